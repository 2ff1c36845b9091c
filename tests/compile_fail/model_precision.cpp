// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: the container has tensors of an element type that its Precision
// does not allow
#include <zero/policy/model_precision.hpp>

#include <zero/model/describe.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model,
                           (zero::Tensor<float>, norm),
                           (std::vector<zero::Tensor<zero::bf16>>, weights));
};

template <class Precision>
constexpr bool judged = zero::detail::check_model_precision<Precision, Model>::value;

#ifdef ZERO_CONTROL
static_assert(judged<zero::Precision<zero::BF16>>);
#else
static_assert(judged<zero::Precision<zero::FP16>>);
#endif
