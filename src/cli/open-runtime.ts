/** From a configuration file to an open runtime, and back to nothing when the command is done. */
import type { Approver } from "../core/ask.ts";
import { ToolError } from "../core/error.ts";
import type { EventListener } from "../core/event.ts";
import { buildToolsets } from "../config/build-toolsets.ts";
import { findConfig, loadConfig } from "../config/load-config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { createRuntime } from "../runtime/runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OpenReport } from "../runtime/toolset-lifecycle.ts";
import { askPerson } from "./ask-person.ts";
import type { CommandContext } from "./command.ts";
import { oneLine, safeText } from "./terminal-text.ts";

export interface OpenRuntime {
  readonly runtime: Runtime;
  readonly config: LoadedConfig;
  readonly report: OpenReport;
}

export interface WithRuntimeOptions {
  readonly onEvent?: EventListener;
  /** @default `--yes`, or the person at the terminal */
  readonly approve?: Approver;
  /** Say on standard error which toolsets did not open. @default true */
  readonly reportFailures?: boolean;
}

/** Opens the runtime of the configuration, does the work, and closes it whatever happens. */
export async function withRuntime<T>(context: CommandContext, options: WithRuntimeOptions, work: (open: OpenRuntime) => T | Promise<T>): Promise<T> {
  const config = await loadConfig(configPath(context), { environment: context.environment });
  const toolsets = await buildToolsets(config);
  const approve = options.approve ?? defaultApprover(context);
  const runtime = createRuntime({
    ...config.config.runtime,
    permission: config.config.permission,
    approval: { ...config.config.approval, ...(approve === undefined ? {} : { approve }) },
    toolsets,
    ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
    ports: { log: { debug() {}, warn: (message) => context.stderr.write(`${context.paint("yellow", `haft: ${oneLine(message, 400)}`)}\n`) } },
  });
  try {
    const report = await runtime.open();
    if (options.reportFailures !== false) reportFailures(context, report);
    if (context.signal.aborted) throw new ToolError("cancelled", "Stopped before anything was run.");
    return await work({ runtime, config, report });
  } finally {
    for (const error of await runtime.close()) context.stderr.write(`${context.paint("yellow", `haft: ${safeText(error.message)}`)}\n`);
  }
}

function configPath(context: CommandContext): string {
  const path = context.options.config ?? findConfig(context.folder);
  if (path !== undefined) return path;
  throw new ToolError("invalid_config", `There is no haft.toml, haft.yaml or haft.json in ${context.folder}.`, {
    hint: "Create one, or name one with --config. The smallest that does something: [toolsets.files] with type = \"files\" and root = \".\"",
  });
}

function defaultApprover(context: CommandContext): Approver | undefined {
  if (context.options.yes) return () => "allow-once";
  const { ask, stderr, paint } = context;
  return ask === undefined ? undefined : (request) => askPerson(request, { ask, say: (text) => stderr.write(text), paint });
}

function reportFailures(context: CommandContext, report: OpenReport): void {
  for (const { toolset, error } of report.failed) context.stderr.write(`${context.paint("yellow", `haft: the toolset ${safeText(toolset)} did not open: ${oneLine(error.message, 400)}`)}\n`);
}
