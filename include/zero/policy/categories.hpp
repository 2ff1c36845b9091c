// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/type_list.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/device.hpp>
#include <zero/policy/offload.hpp>
#include <zero/policy/optimizer.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>
#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// What an engine chooses by, in the canonical order of its policies. A category is a tag type that
/// says all there is to say about its choices in general; see `stage_category` for the smallest:
///
/// - `default_policy`: the choice of a list that names none; it needs to be declared only;
/// - `check_given_once<Count>`: the sentence for a list that names more than one;
/// - if not every policy of the category will do, `accepts<P>` and `check_accepted<P>`: whether `P`
///   does, and the sentence, as in `optimizer_category`;
/// - if a policy of the category chooses for another category too, by a `policy_list` named
///   `brings`: `check_brought<Alone>`, the sentence for a list in which somebody else does so;
/// - if not every pair will do, `allows<P, Category, Other>` and `check_allowed<P, Category,
/// Other>`:
///   whether `P` goes with `Other`, a choice of `Category`, and the sentence, as in
///   `communicator_category`.
using engine_categories = type_list<stage_category,
                                    per_unit_category,
                                    offload_category,
                                    precision_category,
                                    accumulate_category,
                                    reduction_category,
                                    optimizer_category,
                                    communicator_category,
                                    device_category>;

}  // namespace zero::inline ZERO_ABI
