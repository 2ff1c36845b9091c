#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPT of examples/train_gpt in PyTorch on one GPU: the same model, sizes and optimizer.

Two ways to train it, each compiled and eager:
  ddp   FP32 parameters under bf16 autocast, DistributedDataParallel, fused AdamW
  fsdp  FSDP2 (fully_shard): bf16 parameters, FP32 reduction, FP32 masters, fused AdamW
Attention is F.scaled_dot_product_attention; gradients are clipped to a norm of 1. Prints one JSON
object a variant: medians, least and most over the turns.

Run: train_gpt.py [--variants ddp-compiled,ddp-eager,fsdp-compiled,fsdp-eager] [--turns 7]
                  [--steps-per-turn 20] [--layers 12] [--channels 768] [--heads 12]
                  [--context 1024] [--vocabulary 50304] [--batch 8] [--json FILE]
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.norm2 = nn.LayerNorm(channels)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(channels, dim=2)
        shape = (batch, length, self.heads, channels // self.heads)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, channels))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.tokens = nn.Embedding(a.vocabulary, a.channels)
        self.positions = nn.Embedding(a.context, a.channels)
        self.blocks = nn.ModuleList(Block(a.channels, a.heads) for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.channels)
        self.head = nn.Linear(a.channels, a.vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def groups(model):
    """Biases and norms are not pulled towards zero."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


def make(variant, a):
    """A function that makes one step, and returns the loss."""
    kind, mode = variant.split("-")
    torch.manual_seed(1)
    model = Gpt(a).cuda()
    if kind == "fsdp":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
        if mode == "compiled":
            for block in model.blocks:
                block.compile()
    else:
        if mode == "compiled":
            model.compile()
        model = DistributedDataParallel(
            model, device_ids=[0], gradient_as_bucket_view=True, static_graph=True
        )
    optimizer = torch.optim.AdamW(groups(model), lr=6e-4, betas=(0.9, 0.95), fused=True)
    text = os.path.abspath(__file__)
    with open(text, "rb") as file:
        data = torch.tensor(list(file.read()), dtype=torch.long, device="cuda").repeat(8)
    generator = torch.Generator(device="cuda").manual_seed(1)
    reach = torch.arange(a.context + 1, device="cuda")

    def step():
        places = len(data) - a.context - 1
        first = torch.randint(places, (a.batch, 1), generator=generator, device="cuda")
        window = data[first + reach]
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind == "ddp"):
            loss = model(window[:, :-1], window[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def measure(variant, a):
    step = make(variant, a)
    for _ in range(10):
        loss = step()
    seconds = []
    for _ in range(a.turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(a.steps_per_turn):
            loss = step()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - start) / a.steps_per_turn)
    middle = statistics.median(seconds)
    return {
        "name": variant,
        "tokens_per_second": a.batch * a.context / middle,
        "ms": 1e3 * middle,
        "ms_min": 1e3 * min(seconds),
        "ms_max": 1e3 * max(seconds),
        "loss": float(loss.detach()),
        "torch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--variants", default="ddp-compiled,ddp-eager,fsdp-compiled,fsdp-eager")
    for name, default in (
        ("turns", 7),
        ("steps-per-turn", 20),
        ("layers", 12),
        ("channels", 768),
        ("heads", 12),
        ("context", 1024),
        ("vocabulary", 50304),
        ("batch", 8),
    ):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--json", default="")
    a = parser.parse_args()

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1)
    torch.set_float32_matmul_precision("high")
    results = []
    for variant in a.variants.split(","):
        try:
            results.append(measure(variant, a))
        except Exception as error:  # one that does not run must not hide the others
            results.append({"name": variant, "error": f"{type(error).__name__}: {error}"[:300]})
        print(json.dumps(results[-1]), flush=True)
        gc.collect()
        torch.cuda.empty_cache()
        torch._dynamo.reset()
    dist.destroy_process_group()
    if a.json:
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
