/** `haft chain check`: checks that the steps of chains name existing tools and give them the required arguments. */
import { plural } from "../../../core/base/wording.ts";
import type { Command } from "../../command.ts";
import { withRuntime } from "../../open/open-runtime.ts";
import { safeText, wrap } from "../../terminal/terminal-text.ts";
import { listChains, findChain } from "./named-chains.ts";

/** The exit code, as of `haft check`, for a configuration that can be read but has parts that cannot be used. */
const EXIT_PROBLEMS = 3;

export const checkChains: Command = {
  name: "chain check",
  usage: "[<chain>]",
  summary: "Check one chain of the configuration, or all.",
  details: [
    "Opens the toolsets and calls nothing. Every problem is shown with its step;",
    "steps count from 0. Exits with 3 when there is one. With --json one object a",
    "chain.",
  ],
  args: [0, 1],
  options: ["config"],
  examples: ["haft chain check", "haft chain check trips::book", "haft chain check --json | jq 'select(.problems != [])'"],
  async run(context) {
    const [name] = context.args;
    const { out, options } = context;
    return withRuntime(context, {}, ({ runtime, config }) => {
      const chains = name === undefined ? [...listChains(config)] : [findChain(config, name)];
      let problems = 0;
      for (const [qualified, { chain }] of chains) {
        const check = chain.validate(runtime);
        const found = check.valid ? [] : check.problems;
        problems += found.length;
        if (options.json) out.writeJson({ chain: qualified, steps: chain.length, problems: found });
        else {
          out.print(
            `${found.length === 0 ? out.paint("green", "✓") : out.paint("red", "✗")} ${safeText(qualified)}  ${plural(chain.length, "step")}`,
          );
          for (const { message, hint } of found)
            for (const line of wrap(hint === undefined ? message : `${message} ${hint}`, out.width - 4))
              out.print(`    ${out.paint("red", line)}`);
        }
      }
      if (chains.length === 0 && !options.json) out.print(`${safeText(config.path)} has no chains.`);
      return problems === 0 ? 0 : EXIT_PROBLEMS;
    });
  },
};
