/** `haft check`: reads the configuration, opens every toolset, checks every schema, and runs nothing. */
import type { Command } from "./command.ts";
import { withRuntime } from "./open-runtime.ts";
import { oneLine, plural, safeText } from "./terminal-text.ts";

/** The exit code of a configuration that can be read but has toolsets or tools that cannot be used. */
const EXIT_PROBLEMS = 3;

export const checkCommand: Command = {
  name: "check",
  usage: "",
  summary: "Check the configuration, its toolsets and every tool's schema.",
  args: [0, 0],
  options: [],
  examples: ["haft check", "haft check --config ./haft.yaml", "haft check --json"],
  async run(context) {
    const { stdout, paint, options, width } = context;
    return withRuntime(context, { reportFailures: false }, ({ runtime, config, report }) => {
      const quarantined = runtime.registry.check();
      const failed = report.failed.map(({ toolset, error }) => ({ toolset, error }));
      if (options.json) {
        stdout.write(`${JSON.stringify({ config: config.path, toolsets: runtime.registry.toolsets().map((toolset) => toolset.name), tools: runtime.registry.size, failed, quarantined })}\n`);
      } else {
        for (const toolset of runtime.registry.toolsets()) {
          const failure = failed.find((one) => one.toolset === toolset.name);
          const words = failure === undefined ? paint("green", plural(runtime.registry.list(toolset.name).length, "tool")) : paint("red", oneLine(failure.error.message, width - 20));
          stdout.write(`${failure === undefined ? paint("green", "✓") : paint("red", "✗")} ${safeText(toolset.name)}: ${words}\n`);
        }
        for (const { tool, error } of quarantined) stdout.write(`${paint("red", "✗")} ${safeText(tool)}: ${oneLine(error.message, width * 2)}\n`);
        stdout.write(`${safeText(config.path)}: ${failed.length + quarantined.length === 0 ? "no problems" : plural(failed.length + quarantined.length, "problem")}\n`);
      }
      return failed.length + quarantined.length === 0 ? 0 : EXIT_PROBLEMS;
    });
  },
};
