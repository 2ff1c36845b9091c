#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work of optimizer_step.cu in PyTorch, in the same run as that program.

An FP32-master step as one writes it with PyTorch: cast the bf16 gradient to FP32, clip_grad_norm_,
AdamW(fused=True), cast the parameters to bf16; and fused AdamW on FP32 alone. One tensor, random
data, CUDA events, medians. The other program runs before and after, and the ratios are taken with
the mean of its two medians.

Run: optimizer_step_torch.py PATH_TO_optimizer_step [--parameters N] [--rounds R] [--json FILE]
Needs 22 bytes of device memory a parameter.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch


def ours(program, parameters, rounds):
    """Medians of optimizer_step.cu, milliseconds by name, and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ours.json")
        subprocess.run(
            [program, "--parameters", str(parameters), "--rounds", str(rounds), "--json", path],
            check=True,
        )
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    return {v["name"]: v["ms"] for v in result["variants"]}, result


def torchs(parameters, rounds):
    """Medians, least and most of the PyTorch variants."""
    generator = torch.Generator(device="cuda").manual_seed(1)

    def normal(scale, dtype):
        x = torch.empty(parameters, dtype=dtype, device="cuda")
        return x.normal_(0, scale, generator=generator)

    gradient = normal(1e-3, torch.bfloat16)
    master = torch.nn.Parameter(normal(0.02, torch.float32))
    parameter = master.detach().to(torch.bfloat16)
    master.grad = torch.zeros_like(master)
    optimizer = torch.optim.AdamW([master], lr=1e-3, fused=True)

    def cast_gradient():
        master.grad.copy_(gradient)

    def sequence():
        cast_gradient()
        torch.nn.utils.clip_grad_norm_([master], 1.0)
        optimizer.step()
        with torch.no_grad():
            parameter.copy_(master)

    variants = {"sequence": sequence, "fused FP32 update": optimizer.step}
    samples = {name: [] for name in variants}
    cast_gradient()
    for round_ in range(-3, rounds):
        for name, run in variants.items():
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            begin.record()
            run()
            end.record()
            end.synchronize()
            if round_ >= 0:
                samples[name].append(begin.elapsed_time(end))
    return {
        name: {"ms": statistics.median(s), "ms_min": min(s), "ms_max": max(s)}
        for name, s in samples.items()
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--parameters", type=int, default=1_000_000_000)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()

    before, _ = ours(arguments.program, arguments.parameters, arguments.rounds)
    theirs = torchs(arguments.parameters, arguments.rounds)
    torch.cuda.empty_cache()
    after, last = ours(arguments.program, arguments.parameters, arguments.rounds)

    print(f"\nPyTorch {torch.__version__}, {arguments.parameters} parameters")
    for name, t in theirs.items():
        print(f"{name:<44} {t['ms']:9.4f} ms  [{t['ms_min']:9.4f} {t['ms_max']:9.4f}]")
    figures = {}
    for figure, their_name, our_name in (
        ("torch_sequence_over_norm_and_update", "sequence", "norm and update"),
        ("torch_fused_over_update_all_fp32", "fused FP32 update", "update (all FP32)"),
    ):
        mean = (before[our_name] + after[our_name]) / 2
        figures[figure] = theirs[their_name]["ms"] / mean
        print(
            f"{figure:<44} {figures[figure]:9.4f}"
            f"   (ours: {before[our_name]:.4f} ms before, {after[our_name]:.4f} ms after)"
        )
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"torch": theirs, "ours": last, "figures": figures}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
