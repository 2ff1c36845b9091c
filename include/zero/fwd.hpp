// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <cstdint>

// Every public name of the library that can be declared ahead, the categories of policies apart:
// each is defined whole, with its default, in its file of policy/. Include this, and never declare
// the names yourself.

// X11 defines a macro of this name; the user's is in force again below.
#pragma push_macro("None")
#undef None

namespace zero::inline ZERO_ABI {

// core
class shape;
struct parameter_traits;
template <element T, std::int64_t... Extents>
class Tensor;
struct traffic;
class logic_error;
class peer_error;
class cuda_error;
class nccl_error;
class io_error;
class out_of_memory;
class numeric_error;

// model
struct parameter;
struct model_layout;
enum class phase : std::uint8_t;
struct program_token;
struct program;
template <class Model>
class ProgramBuilder;

// policies and their arguments
struct None;
struct FP32;
struct BF16;
struct FP16;
struct Native;
struct Ordered;

template <int Number>
struct Stage;
template <class Choice>
struct Default;
template <auto Member, class... Choices>
struct For;
template <class... Choices>
struct PerUnit;
template <class Tier>
struct Offload;
template <class Format>
struct Precision;
template <class Format>
struct Accumulate;
template <class Kind>
struct Reduction;

struct AdamW;
struct Sgd;
struct PlainSgd;
struct Lion;

struct Local;
struct local_options;
class local_world;
class local_communicator;
struct Nccl;

struct Host;
class host_device;
struct Cuda;

template <class... Policies>
struct policy_list;

// plans, and what an engine takes and gives
struct plan_config;
struct plan_digest;
struct execution_plan;
struct loss_scale_options;
struct step_options;
struct step_record;
struct parameter_view;
struct MicroStep;
template <class Engine>
class MicroSteps;
template <class Engine>
class EvaluationPass;

/// The engine in its canonical form: `Policies` is a `policy_list` of one policy a category. Write
/// `ZeroEngine<Model, policies...>`, which takes the policies in any order, fills in the defaults
/// and names this type.
template <class Model, class Policies>
class basic_zero_engine;

}  // namespace zero::inline ZERO_ABI

#pragma pop_macro("None")
