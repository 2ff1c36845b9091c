// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"
#include "options.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace train_gpt {

namespace {

using json = nlohmann::ordered_json;  // keys stay in the order they are written here

std::string hexadecimal(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::int64_t bytes_sent(run_report const& run) {
  std::int64_t bytes = 0;
  for (collective_figures const& c : run.collectives) {
    bytes += c.bytes;
  }
  return bytes;
}

template <class Figure>
json or_null(std::optional<Figure> const& figure) {
  return figure ? json(*figure) : json();
}

// A figure that was not measured, or is not finite, is written as null.
json to_json(run_report const& run) {
  options const& o = run.chosen;
  json pools = json::array();
  for (pool_figures const& p : run.pools) {
    pools.push_back({{"name", p.name},
                     {"tier", p.tier},
                     {"planned_bytes", p.planned_bytes},
                     {"allocated_bytes", p.allocated_bytes}});
  }
  json collectives = json::object();
  for (collective_figures const& c : run.collectives) {
    collectives[c.operation] = {{"count", c.count}, {"bytes", c.bytes}};
  }
  return {
      {"stage", o.stage},
      {"ranks", o.ranks},
      {"precision", o.precision},
      {"accumulate", o.accumulate},
      {"reduction", o.reduction},
      {"offload", o.offload},
      {"optimizer", o.optimizer},
      {"device", o.device},
      {"communicator", o.comm},
      {"registration", o.registration},
      {"matrix_products", run.matrix_products},
      {"attention", run.attention},
      {"deterministic", o.deterministic},
      {"layers", o.shape.layers},
      {"channels", o.shape.channels},
      {"heads", o.shape.heads},
      {"context", o.shape.context},
      {"vocabulary", o.shape.vocabulary},
      {"batch", o.batch},
      {"micro_steps", o.micro_steps},
      {"steps", o.steps},
      {"lr", o.lr},
      {"clip", o.clip},
      {"seed", o.seed},
      {"parameters", run.parameters},
      {"applied_steps", run.applied_steps},
      {"skipped_steps", run.skipped_steps},
      {"losses", run.losses},
      {"validation_losses", run.validation_losses},
      {"validation_loss",
       run.validation_losses.empty() ? json() : json(run.validation_losses.back())},
      {"seconds_per_step", run.training_seconds / static_cast<double>(o.steps)},
      {"tokens_per_second", run.tokens_per_second},
      {"parameters_hash", hexadecimal(run.parameters_hash)},
      {"replica_hash", hexadecimal(run.replica_hash)},
      {"pools", pools},
      {"formula_bytes", run.formula_bytes},
      {"collectives", collectives},
      {"allocations_per_step", or_null(run.allocations_per_step)},
      {"peak_device_bytes", or_null(run.peak_device_bytes)},
      {"device_allocations_per_step", or_null(run.device_allocations_per_step)},
      {"host_waits_per_step", or_null(run.host_waits_per_step)},
  };
}

/// One row of the comparison: a name, then a cell a run, flushed right.
void print_row(std::string const& name,
               std::vector<run_report> const& runs,
               std::function<std::string(run_report const&)> const& cell) {
  std::printf("%-22s", name.c_str());
  for (run_report const& run : runs) {
    std::printf(" %16s", cell(run).c_str());
  }
  std::printf("\n");
}

std::string with_digits(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  std::ptrdiff_t const least = number < 0 ? 1 : 0;
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > least; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ' ');
  }
  return text;
}

void write_json(std::vector<run_report> const& runs, bool as_list, std::string const& path) {
  json value = json::array();
  for (run_report const& run : runs) {
    value.push_back(to_json(run));
  }
  std::string const text =
      (as_list ? value : value.front()).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  new_file file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void print_summary(run_report const& run) {
  std::printf("\nA sample of what it writes now:\n\n%s\n", run.sample.c_str());

  std::printf("\nMemory of a rank, in bytes\n  %-22s %-8s %16s %16s\n",
              "pool",
              "tier",
              "planned",
              "allocated");
  std::int64_t planned = 0;
  std::int64_t allocated = 0;
  for (pool_figures const& p : run.pools) {
    std::printf("  %-22s %-8s %16s %16s\n",
                p.name.c_str(),
                p.tier.c_str(),
                grouped(p.planned_bytes).c_str(),
                grouped(p.allocated_bytes).c_str());
    planned += p.planned_bytes;
    allocated += p.allocated_bytes;
  }
  std::printf("  %-22s %-8s %16s %16s\n",
              "together",
              "",
              grouped(planned).c_str(),
              grouped(allocated).c_str());
  std::printf("  %-22s %-8s %16s\n", "by the formula", "", grouped(run.formula_bytes).c_str());

  std::printf("\nCollectives of a rank in %lld steps\n  %-22s %12s %20s\n",
              static_cast<long long>(run.chosen.steps),
              "operation",
              "calls",
              "bytes sent");
  for (collective_figures const& c : run.collectives) {
    std::printf("  %-22s %12s %20s\n",
                c.operation.c_str(),
                grouped(c.count).c_str(),
                grouped(c.bytes).c_str());
  }
  if (run.peak_device_bytes) {
    std::printf("\nThe driver's bytes of all ranks on the device, activations included: %s\n",
                grouped(*run.peak_device_bytes).c_str());
  }
  if (run.host_waits_per_step && run.device_allocations_per_step) {
    std::printf("A step allocates %g times on the device and waits for it %g times.\n",
                *run.device_allocations_per_step,
                *run.host_waits_per_step);
  }
  std::printf("\nParameters %s, hash %s\n",
              grouped(run.parameters).c_str(),
              hexadecimal(run.parameters_hash).c_str());
}

void print_comparison(std::vector<run_report> const& runs) {
  std::printf("\n");
  print_row(
      "", runs, [](run_report const& r) { return "stage " + std::to_string(r.chosen.stage); });
  for (std::size_t i = 0; i < runs.front().pools.size(); ++i) {
    print_row(runs.front().pools[i].name + ", bytes", runs, [i](run_report const& r) {
      return grouped(r.pools[i].allocated_bytes);
    });
  }
  print_row("memory a rank, bytes", runs, [](run_report const& r) {
    std::int64_t sum = 0;
    for (pool_figures const& p : r.pools) {
      sum += p.allocated_bytes;
    }
    return grouped(sum);
  });
  print_row("sent a step, bytes", runs, [](run_report const& r) {
    return grouped(bytes_sent(r) / r.chosen.steps);
  });
  print_row("time a step, ms", runs, [](run_report const& r) {
    return with_digits(1e3 * r.training_seconds / static_cast<double>(r.chosen.steps), 1);
  });
  print_row(
      "final loss", runs, [](run_report const& r) { return with_digits(r.losses.back(), 6); });
  print_row("validation loss", runs, [](run_report const& r) {
    return with_digits(r.validation_losses.back(), 6);
  });
  print_row("hash", runs, [](run_report const& r) { return hexadecimal(r.parameters_hash); });
}

}  // namespace train_gpt
