/** The description of a process of the command line for the others of its store. */
import { hash } from "node:crypto";
import { hostname } from "node:os";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { definitionDigests } from "../../registry/definition-digests.ts";
import type { CommandContext } from "../command.ts";
import type { OpenRuntime } from "./open-runtime.ts";
import { packageVersion } from "../own-package.ts";

/** A digest of the settings that all processes of a store should have alike: none of them is a secret, and none belongs to one machine. */
export function settingsOf({ config: { runtime, retry, circuit, permission, approval, cache } }: OpenRuntime["config"]): {
  readonly configuration: string;
} {
  const settings = { runtime, retry, circuit, permission, approval, cache };
  return { configuration: hash("sha256", canonicalJson(copyJson(omitUndefined(settings)).value)).slice(0, 16) };
}

/** Names a worker that no server describes. @throws ToolError as the store. By rejecting */
export async function announceWorker({ options: { name } }: CommandContext, { runtime, config }: OpenRuntime): Promise<void> {
  await runtime.store?.announce({
    role: "worker",
    name: name ?? `${hostname()}:${process.pid}`,
    version: packageVersion(),
    places: runtime.places,
    definitions: { ...definitionDigests(runtime.registry), ...settingsOf(config) },
  });
}
