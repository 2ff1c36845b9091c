// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/model/describe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// A container of every kind of nesting, filled at random, beside a plain list of what is in it
/// that was written down while it was filled, without a look at the library's description.
namespace zero::test {

struct Leaf {
  BOOST_HANA_DEFINE_STRUCT(Leaf, (Tensor<bf16>, weight), (Tensor<float, 3, 2>, norm));
};

struct Node {
  BOOST_HANA_DEFINE_STRUCT(Node,
                           (Tensor<bf16>, weight),
                           (std::vector<Leaf>, leaves),
                           (std::optional<Leaf>, extra),
                           (std::array<Leaf, 2>, pair));
};

struct Deep {
  BOOST_HANA_DEFINE_STRUCT(Deep,
                           (std::vector<Node>, nodes),
                           (std::vector<std::vector<Tensor<float>>>, grid),
                           (std::optional<std::vector<Node>>, side));
};

struct Everything {
  BOOST_HANA_DEFINE_STRUCT(Everything,
                           (Leaf, first),
                           (std::vector<Node>, nodes),
                           (std::array<Deep, 2>, deep),
                           (std::optional<Deep>, maybe),
                           (std::vector<std::optional<Leaf>>, sparse),
                           (Tensor<float>, lone),
                           (std::vector<Tensor<fp16>>, list),
                           (std::optional<std::vector<Leaf>>, tower),
                           (std::vector<std::vector<Leaf>>, groups),
                           (Leaf, last));
};

/// One tensor as it was written down.
struct noted_tensor {
  std::string name;
  std::int64_t elements;
  dtype type;
  parameter_traits traits;
  std::int32_t unit;
  detail::tensor_base const* address;
};

/// What is in a container.
struct notes {
  std::vector<noted_tensor> tensors;
  std::vector<std::string> units;
  std::vector<void const*> unit_addresses;
};

/// Fills a container at random, then takes notes of it.
class random_container {
 public:
  explicit random_container(std::uint32_t seed)
      : random_(seed) {
    fill(model.first);
    fill(model.nodes, 4);
    for (auto& deep : model.deep) {
      fill(deep);
    }
    if (coin()) {
      fill(model.maybe.emplace());
    }
    model.sparse.resize(below(5));
    for (auto& leaf : model.sparse) {
      if (coin()) {
        fill(leaf.emplace());
      }
    }
    fill(model.lone);
    model.list.resize(below(4));
    for (auto& tensor : model.list) {
      fill(tensor);
    }
    if (coin()) {
      model.tower.emplace(below(4));
      for (auto& leaf : *model.tower) {
        fill(leaf);
      }
    }
    model.groups.resize(below(3));
    for (auto& group : model.groups) {
      group.resize(below(3));
      for (auto& leaf : group) {
        fill(leaf);
      }
    }
    fill(model.last);
  }

  random_container(random_container const&) = delete;
  random_container& operator=(random_container const&) = delete;

  Everything model;

  /// What is in the container now.
  [[nodiscard]] notes take_notes() const {
    notes out;
    unit(out, "first", model.first);
    units(out, "nodes", model.nodes);
    units(out, "deep", model.deep);
    if (model.maybe.has_value()) {
      unit(out, "maybe", *model.maybe);
    }
    for (std::size_t i = 0; i < model.sparse.size(); ++i) {
      if (model.sparse[i].has_value()) {
        unit(out, "sparse." + std::to_string(i), *model.sparse[i]);
      }
    }
    unit(out, "lone", model.lone);
    units(out, "list", model.list);
    if (model.tower.has_value()) {
      units(out, "tower", *model.tower);
    }
    units(out, "groups", model.groups);
    unit(out, "last", model.last);
    return out;
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }

  [[nodiscard]] bool coin() { return below(2) == 1; }

  [[nodiscard]] parameter_traits traits() {
    parameter_traits t;
    t.frozen = coin();
    t.weight_decay = coin();
    t.lr_scale = static_cast<double>(below(4));
    t.resident = coin();
    return t;
  }

  template <class T>
  void fill(Tensor<T>& tensor) {
    tensor = Tensor<T>({static_cast<std::int64_t>(below(5)), static_cast<std::int64_t>(below(4))},
                       traits());
  }

  void fill(Leaf& leaf) {
    fill(leaf.weight);
    leaf.norm = Tensor<float, 3, 2>(traits());
  }

  void fill(Node& node) {
    fill(node.weight);
    node.leaves.resize(below(3));
    for (auto& leaf : node.leaves) {
      fill(leaf);
    }
    if (coin()) {
      fill(node.extra.emplace());
    }
    for (auto& leaf : node.pair) {
      fill(leaf);
    }
  }

  void fill(std::vector<Node>& nodes, std::size_t end) {
    nodes.resize(below(end));
    for (auto& node : nodes) {
      fill(node);
    }
  }

  void fill(Deep& deep) {
    fill(deep.nodes, 3);
    deep.grid.resize(below(3));
    for (auto& row : deep.grid) {
      row.resize(below(3));
      for (auto& tensor : row) {
        fill(tensor);
      }
    }
    if (coin()) {
      fill(deep.side.emplace(), 3);
    }
  }

  template <class T, std::int64_t... Extents>
  static void note(notes& out, std::string const& name, Tensor<T, Extents...> const& tensor) {
    out.tensors.push_back(noted_tensor{name,
                                       tensor.size(),
                                       dtype_of<T>,
                                       tensor.traits,
                                       static_cast<std::int32_t>(out.units.size()) - 1,
                                       &tensor});
  }

  static void note(notes& out, std::string const& name, Leaf const& leaf) {
    note(out, name + ".weight", leaf.weight);
    note(out, name + ".norm", leaf.norm);
  }

  static void note(notes& out, std::string const& name, Node const& node) {
    note(out, name + ".weight", node.weight);
    for (std::size_t i = 0; i < node.leaves.size(); ++i) {
      note(out, name + ".leaves." + std::to_string(i), node.leaves[i]);
    }
    if (node.extra.has_value()) {
      note(out, name + ".extra", *node.extra);
    }
    note(out, name + ".pair.0", node.pair[0]);
    note(out, name + ".pair.1", node.pair[1]);
  }

  static void note(notes& out, std::string const& name, Deep const& deep) {
    for (std::size_t i = 0; i < deep.nodes.size(); ++i) {
      note(out, name + ".nodes." + std::to_string(i), deep.nodes[i]);
    }
    for (std::size_t i = 0; i < deep.grid.size(); ++i) {
      for (std::size_t k = 0; k < deep.grid[i].size(); ++k) {
        note(out, name + ".grid." + std::to_string(i) + "." + std::to_string(k), deep.grid[i][k]);
      }
    }
    if (deep.side.has_value()) {
      for (std::size_t i = 0; i < deep.side->size(); ++i) {
        note(out, name + ".side." + std::to_string(i), (*deep.side)[i]);
      }
    }
  }

  static void note(notes& out, std::string const& name, std::vector<Leaf> const& leaves) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      note(out, name + "." + std::to_string(i), leaves[i]);
    }
  }

  template <class Object>
  static void unit(notes& out, std::string const& name, Object const& object) {
    out.units.push_back(name);
    out.unit_addresses.push_back(&object);
    note(out, name, object);
  }

  template <class Objects>
  static void units(notes& out, std::string const& name, Objects const& objects) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      unit(out, name + "." + std::to_string(i), objects[i]);
    }
  }

  std::mt19937 random_;
};

}  // namespace zero::test
