/** `haft store migrate`: brings the tables of a store up to date. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import { checkPostgresSettings } from "../../../store/postgres/postgres-settings.ts";
import type { StoreLocation } from "../../../store/connect-store.ts";
import type { Command, CommandContext } from "../../command.ts";
import { resolveStoreLocation } from "../../open/open-store.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { withStoreConnection, formatLocation } from "./store-connection.ts";

export const migrateStoreCommand: Command = {
  name: "store migrate",
  usage: "",
  summary: "Bring the tables of the store up to date.",
  details: [
    "Prints the steps to do, then runs each in a transaction under a lock: two that",
    "run at once do not disturb each other, and completed steps stay done. In",
    "PostgreSQL the role must be allowed to create and alter tables. Programs of the",
    "previous version that have the store open keep running; start no more of them.",
    "With the package pg-boss, the tables of the job queue are created as well.",
  ],
  args: [0, 0],
  options: ["dry-run", "store", "schema", "config"],
  examples: ["haft store migrate --dry-run", "haft store migrate --store postgres://admin@db/haft"],
  async run(context) {
    const location = await resolveStoreLocation(context);
    const { dryRun } = context.options;
    await withStoreConnection(location, { readOnly: dryRun, doing: "could not be migrated" }, async (connection) => {
      const { migrate, findPendingSteps } = await import("../../../store/sql/migrate.ts");
      const { version, pending } = await connection.runWithRetries(() => findPendingSteps(connection));
      const print = new StepPrinter(context, formatLocation(location));
      print.plan(version, pending);
      if (pending.length === 0) return;
      if (dryRun) return connection.requireRights?.(connection.tables);
      await migrate(connection, { onDone: (step) => print.done(step) });
    });
    if (!dryRun && "url" in location) await prepareQueue(context, location);
    return 0;
  },
};

/** Makes the tables of the queue through which processes share jobs, if its package is installed. */
async function prepareQueue(context: CommandContext, { url, schema }: Extract<StoreLocation, { readonly url: string }>): Promise<void> {
  const { bossQueue } = await import("../../../store/postgres/boss-queue.ts");
  const queue = bossQueue(checkPostgresSettings({ url, ...omitUndefined({ schema }) }));
  try {
    await queue.open();
    if (!context.options.json) context.out.print(`${context.out.paint("green", "✓")} queue of jobs`);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (error.code !== "unavailable") throw error;
    if (!context.options.json) context.out.print(`The queue of jobs was left out: ${error.message} ${error.operatorHint ?? ""}`.trim());
  } finally {
    await queue.close();
  }
}

interface Step {
  readonly version: number;
  readonly name: string;
}

class StepPrinter {
  readonly #context: CommandContext;
  readonly #place: string;

  constructor(context: CommandContext, place: string) {
    this.#context = context;
    this.#place = place;
  }

  plan(version: number, pending: readonly Step[]): void {
    const { out, options } = this.#context;
    if (options.json) return out.writeJson({ store: this.#place, version, pending });
    const has = version === 0 ? "has no tables yet" : `has format version ${version}`;
    const todo = pending.length === 0 ? "nothing to do" : `${plural(pending.length, "step")} to do`;
    out.print(`${safeText(this.#place)} ${has}: ${todo}`);
    if (options.dryRun) for (const step of pending) out.print(`  ${step.version}  ${step.name}`);
  }

  done(step: Step): void {
    const { out, options } = this.#context;
    if (options.json) out.writeJson({ done: step });
    else out.print(`${out.paint("green", "✓")} ${step.version}  ${step.name}`);
  }
}
