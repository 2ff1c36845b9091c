#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPT of bench/scaling/gpt.cu in PyTorch, one process a GPU: DDP and FSDP2.

  ddp    FP32 parameters under bf16 autocast, DistributedDataParallel, fused AdamW: stage 0
  fsdp2  FSDP2 keeping parameters between forward and backward, bf16 with FP32 masters: stage 2
  fsdp3  FSDP2 that gathers them again for the backward pass: stage 3
Gradients are reduced in bf16 in fsdp2 and fsdp3, as zero's travel, and clipped to a norm of 1.

Run: torchrun --nproc-per-node N gpt.py [--variants ddp,fsdp2,fsdp3] [--compile] [--turns 3]
     [--steps-per-turn 4] [--layers 48] [--channels 1600] [--heads 25] [--context 1024]
     [--vocabulary 50304] [--batch 8] [--json FILE]
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
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
from train_gpt import Gpt, groups  # noqa: E402


def make(variant, a):
    """A function that makes one step, and returns the loss."""
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = Gpt(a)
    if variant == "ddp":
        if a.compile:
            model.compile()
        model = DistributedDataParallel(
            model, device_ids=[torch.cuda.current_device()], gradient_as_bucket_view=True
        )
    else:
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        again = variant == "fsdp3"
        for block in model.blocks:
            fully_shard(block, mp_policy=policy, reshard_after_forward=again)
        fully_shard(model, mp_policy=policy, reshard_after_forward=False)
        if a.compile:
            for block in model.blocks:
                block.compile()
    optimizer = torch.optim.AdamW(groups(model), lr=2e-4, betas=(0.9, 0.95), fused=True)
    with open(os.path.abspath(__file__), "rb") as file:
        data = torch.tensor(list(file.read()), dtype=torch.long, device="cuda").repeat(8)
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    reach = torch.arange(a.context + 1, device="cuda")

    def step():
        first = torch.randint(len(data) - a.context - 1, (a.batch, 1), generator=generator)
        window = data[first.pin_memory().cuda(non_blocking=True) + reach]
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=variant == "ddp"):
            loss = model(window[:, :-1], window[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def measure(variant, a):
    torch.cuda.reset_peak_memory_stats()
    step = make(variant, a)
    for _ in range(3):
        step()
    milliseconds = []
    for _ in range(a.turns):
        torch.cuda.synchronize()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(a.steps_per_turn):
            loss = step()
        torch.cuda.synchronize()
        dist.barrier()
        milliseconds.append((time.perf_counter() - start) / a.steps_per_turn * 1e3)
    middle = statistics.median(milliseconds)
    return {
        "name": variant + (", compiled" if a.compile else ", eager"),
        "ranks": dist.get_world_size(),
        "tokens_s_gpu": a.batch * a.context / middle * 1e3,
        "ms": middle,
        "ms_min": min(milliseconds),
        "ms_max": max(milliseconds),
        "loss": float(loss.detach()),
        "peak_GB": torch.cuda.max_memory_allocated() * 1e-9,
        "torch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--variants", default="ddp,fsdp2,fsdp3")
    parser.add_argument("--compile", action="store_true")
    for name, default in (
        ("turns", 3),
        ("steps-per-turn", 4),
        ("layers", 48),
        ("channels", 1600),
        ("heads", 25),
        ("context", 1024),
        ("vocabulary", 50304),
        ("batch", 8),
    ):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--json", default="")
    a = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.set_float32_matmul_precision("high")
    results = []
    for variant in a.variants.split(","):
        try:
            results.append(measure(variant, a))
        except Exception as error:  # one that does not run must not hide the others
            results.append({"name": variant, "error": f"{type(error).__name__}: {error}"[:300]})
        if dist.get_rank() == 0:
            print(json.dumps(results[-1]), flush=True)
            if a.json:
                with open(a.json, "w", encoding="utf-8") as file:
                    json.dump(results, file, indent=2)
        gc.collect()
        torch.cuda.empty_cache()
        torch._dynamo.reset()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
