#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tests/reference/torch_optimizers.hpp: what PyTorch's optimizers make of given states in one step.

    pip install torch
    python3 tests/reference/make_torch_table.py > tests/reference/torch_optimizers.hpp
    clang-format-19 -i tests/reference/torch_optimizers.hpp
"""

import torch

ELEMENTS = 8

# lr, beta1, beta2, eps, weight_decay, number of the step
ADAMW = [
    (1e-3, 0.9, 0.999, 1e-8, 1e-2, 1),
    (1e-3, 0.9, 0.999, 1e-8, 1e-2, 2),
    (3e-4, 0.9, 0.95, 1e-8, 0.1, 10),
    (1e-1, 0.8, 0.99, 1e-6, 0.0, 3),
    (6e-4, 0.9, 0.999, 1e-8, 0.1, 1000),
    (2e-5, 0.95, 0.9999, 1e-12, 0.5, 123456),
    (1e-3, 0.0, 0.999, 1e-8, 1e-2, 5),
    (1e-3, 0.9, 0.999, 1e-3, 1e-2, 7),
    (1e-3, 0.999, 0.999, 1e-8, 1e-2, 10000000),
]

# lr, momentum, dampening, weight_decay, nesterov, number of the step
SGD = [
    (1e-1, 0.0, 0.0, 0.0, False, 1),
    (1e-1, 0.0, 0.0, 1e-2, False, 4),
    (1e-2, 0.9, 0.0, 1e-4, False, 1),
    (1e-2, 0.9, 0.0, 1e-4, False, 2),
    (1e-2, 0.9, 0.5, 1e-2, False, 1),
    (1e-2, 0.9, 0.5, 1e-2, False, 9),
    (3e-1, 0.95, 0.0, 1e-2, True, 1),
    (3e-1, 0.95, 0.0, 1e-2, True, 17),
]


def numbers(generator, smallest, largest):
    """Random FP32 numbers of both signs whose exponents are spread over [smallest, largest)."""
    exponent = torch.randint(smallest, largest, (ELEMENTS,), generator=generator)
    fraction = 1 + torch.rand(ELEMENTS, generator=generator)
    sign = 1 - 2 * torch.randint(0, 2, (ELEMENTS,), generator=generator)
    return torch.ldexp(sign * fraction, exponent).float()


def text(value):
    fraction, exponent = float(value).hex().split("p")
    return fraction.rstrip("0").rstrip(".") + "p" + exponent + "F"


def rows(*columns):
    for row in zip(*columns):
        print("      {" + ", ".join(text(value) for value in row) + "},")


def adamw(generator, case):
    lr, beta1, beta2, eps, weight_decay, step = case
    w, g, m = (numbers(generator, -12, 2) for _ in range(3))
    v = numbers(generator, -24, 4).abs()
    if step == 1:
        m.zero_()
        v.zero_()
    parameter = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.AdamW(
        [parameter], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, foreach=False, fused=False
    )
    state = {"step": torch.tensor(float(step - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.state[parameter] = state
    parameter.grad = g.clone()
    optimizer.step()
    print("    {{%r, %r, %r, %r, %r}, %d, {" % case)
    rows(w, g, m, v, parameter.detach(), state["exp_avg"], state["exp_avg_sq"])
    print("    }},")


def sgd(generator, case):
    lr, momentum, dampening, weight_decay, nesterov, step = case
    w, g, m = (numbers(generator, -12, 2) for _ in range(3))
    if step == 1 or momentum == 0:
        m.zero_()
    parameter = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.SGD(
        [parameter], lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
        foreach=False, fused=False,
    )
    if step > 1 and momentum != 0:
        optimizer.state[parameter]["momentum_buffer"] = m.clone()
    parameter.grad = g.clone()
    optimizer.step()
    after = optimizer.state[parameter]["momentum_buffer"] if momentum != 0 else m
    print("    {{%r, %r, %r, %r, %s}, %d, {" % (lr, momentum, dampening, weight_decay, str(nesterov).lower(), step))
    rows(w, g, m, parameter.detach(), after)
    print("    }},")


def main():
    generator = torch.Generator().manual_seed(20)
    print("// SPDX-License-Identifier: Apache-2.0")
    print("#pragma once")
    print()
    print("// Made by make_torch_table.py with PyTorch %s; do not edit." % torch.__version__.split("+")[0])
    print()
    print("#include <zero/optim/adamw.hpp>")
    print("#include <zero/optim/sgd.hpp>")
    print()
    print("#include <cstdint>")
    print()
    print("namespace zero::test {")
    print()
    print("struct adamw_row {")
    print("  float w, g, m, v;                    // before the step")
    print("  float w_after, m_after, v_after;")
    print("};")
    print()
    print("struct adamw_case {")
    print("  AdamW::options options;")
    print("  std::int64_t step;                   // 1 is the first")
    print("  adamw_row rows[%d];" % ELEMENTS)
    print("};")
    print()
    print("struct sgd_row {")
    print("  float w, g, m;                       // before the step")
    print("  float w_after, m_after;")
    print("};")
    print()
    print("struct sgd_case {")
    print("  SGD::options options;")
    print("  std::int64_t step;                   // 1 is the first")
    print("  sgd_row rows[%d];" % ELEMENTS)
    print("};")
    print()
    print("// clang-format off")
    print("inline constexpr adamw_case torch_adamw[] = {")
    for case in ADAMW:
        adamw(generator, case)
    print("};")
    print()
    print("inline constexpr sgd_case torch_sgd[] = {")
    for case in SGD:
        sgd(generator, case)
    print("};")
    print("// clang-format on")
    print()
    print("}  // namespace zero::test")


main()
