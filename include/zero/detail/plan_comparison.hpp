// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/parameter_view.hpp>
#include <zero/plan/digest.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// A parameter's name and shape in words: "'blocks.3.qkv' [30, 10]".
[[nodiscard]] inline std::string name_and_shape(parameter_view const& p) {
  std::string text = "'" + p.name + "' [";
  for (int d = 0; d < p.shape.rank(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(p.shape[d]);
  }
  return text + "]";
}

/// Digest of the names and shapes of the first `count` parameters.
[[nodiscard]] inline std::uint64_t digest_of_names(std::vector<parameter_view> const& parameters,
                                                   std::size_t count) {
  fnv1a h;
  for (std::size_t i = 0; i < count; ++i) {
    h.add(name_and_shape(parameters[i]));
  }
  return h.value();
}

/// A text of each rank, on every rank: in pieces, since values are gathered that have one size.
template <class Gather>
[[nodiscard]] std::vector<std::string> gather_texts(std::string const& mine, Gather& gather) {
  constexpr std::size_t piece_size = 64;
  auto const sizes = gather(static_cast<std::int64_t>(mine.size()));
  std::vector<std::string> texts(sizes.size());
  auto const longest = static_cast<std::size_t>(*std::ranges::max_element(sizes));
  for (std::size_t at = 0; at < longest; at += piece_size) {
    std::array<char, piece_size> piece{};
    mine.copy(piece.data(), piece_size, std::min(at, mine.size()));
    auto const pieces = gather(piece);
    for (std::size_t r = 0; r < texts.size(); ++r) {
      texts[r].append(pieces[r].data(), piece_size);
    }
  }
  for (std::size_t r = 0; r < texts.size(); ++r) {
    texts[r].resize(static_cast<std::size_t>(sizes[r]));
  }
  return texts;
}

/// The first parameter that has another name or shape on rank `other` than on rank 0, in words. The
/// ranks search for it together, by halves.
/// @pre the ranks have equally many parameters, and those two differ
template <class Gather>
[[nodiscard]] std::string first_other_name(std::vector<parameter_view> const& parameters,
                                           std::size_t other,
                                           Gather& gather) {
  std::size_t alike = 0;                      // so many of them are alike
  std::size_t different = parameters.size();  // so many are not
  while (different - alike > 1) {
    auto const middle = alike + (different - alike) / 2;
    auto const digests = gather(digest_of_names(parameters, middle));
    (digests[other] == digests[0] ? alike : different) = middle;
  }
  auto const texts = gather_texts(name_and_shape(parameters[alike]), gather);
  return "parameter " + std::to_string(alike) + " is " + texts[0] + " on rank 0 and " +
         texts[other] + " on rank " + std::to_string(other);
}

/// Compares digests, and names and shapes of parameters, between ranks. Collective: every rank
/// gathers the same values and comes to the same sentence. One exchange of the digest where all
/// agree.
/// @param digest      of this rank's plan and step; the part of the names is filled here
/// @param parameters  of this rank
/// @param gather      `gather(value)` gives a vector of each rank's value, for trivially copyable
///                    values of at most 128 bytes
/// @throws logic_error when a rank differs from rank 0; names the rank and the first difference
template <class Gather>
void compare_between_ranks(plan_digest digest,
                           std::vector<parameter_view> const& parameters,
                           Gather gather) {
  digest.parts[digest_part_of_names] = digest_of_names(parameters, parameters.size());
  std::vector<plan_digest> const all = gather(digest);
  for (std::size_t p = 0; p < digest.parts.size(); ++p) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r].parts[p] != all[0].parts[p]) {
        throw logic_error("zero::ZeroEngine: the ranks disagree: " +
                          (p == digest_part_of_names
                               ? first_other_name(parameters, r, gather)
                               : std::string(digest_part_name(p)) + " of rank " +
                                     std::to_string(r) + " differ from those of rank 0") +
                          "; build every rank's engine alike.");
      }
    }
  }
}

static_assert(sizeof(plan_digest) <= 128);

}  // namespace zero::inline ZERO_ABI::detail
