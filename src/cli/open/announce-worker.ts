/** Describes this process to the other processes of its store. */
import { hash } from "node:crypto";
import { hostname } from "node:os";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { getDefinitionDigests } from "../../registry/definition-digests.ts";
import type { CommandContext } from "../command.ts";
import type { OpenRuntime } from "./open-runtime.ts";
import { packageVersion } from "../own-package.ts";

/** Returns a digest of the settings that all processes of a store should share. None of them is secret or specific to a machine. */
export function settingsDigest({ config: { runtime, retry, circuit, permission, approval, cache } }: OpenRuntime["config"]): {
  readonly configuration: string;
} {
  const settings = { runtime, retry, circuit, permission, approval, cache };
  return { configuration: hash("sha256", canonicalJson(copyJson(omitUndefined(settings)).value)).slice(0, 16) };
}

/** Announces a worker that runs without a server. @throws ToolError, as a rejection, as the store does */
export async function announceWorker({ options: { name } }: CommandContext, { runtime, config }: OpenRuntime): Promise<void> {
  await runtime.store?.announce({
    role: "worker",
    name: name ?? `${hostname()}:${process.pid}`,
    version: packageVersion(),
    places: runtime.places,
    definitions: { ...getDefinitionDigests(runtime.registry), ...settingsDigest(config) },
  });
}
