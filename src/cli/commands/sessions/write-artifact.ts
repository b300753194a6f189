/** `haft sessions artifact`: writes an artifact of an answer to a file. */
import { artifactId } from "../../../core/artifact.ts";
import { ToolError } from "../../../core/error.ts";
import { plural } from "../../../core/base/wording.ts";
import { findConfig } from "../../../config/config.ts";
import { buildArtifacts } from "../../../config/build/build-store.ts";
import type { ArtifactStore } from "../../../core/artifact.ts";
import type { Command, CommandContext } from "../../command.ts";
import { readConfig } from "../../open/open-runtime.ts";
import { withStore } from "../../open/open-store.ts";
import { checkOutputPaths } from "../../input/check-output-paths.ts";
import { safeJson, safeText } from "../../terminal/terminal-text.ts";
import { writeFileAtomically } from "../../input/write-file.ts";

export const writeArtifact: Command = {
  name: "sessions artifact",
  usage: "<artifact> <file>",
  summary: "Write a file that an answer refers to.",
  details: [
    "Answers refer to files that are stored separately by artifact: and an id; see",
    "the key artifacts of [runtime]. An existing file is only replaced with --force.",
  ],
  args: [2, 2],
  options: ["store", "config", "force"],
  examples: ["haft sessions artifact artifact:6b7fa434…cd0 plot.png"],
  async run(context) {
    const [address = "", path = ""] = context.args;
    const id = artifactId(address) ?? artifactId(`artifact:${address}`);
    if (id === undefined)
      throw new ToolError("invalid_argument", `${safeText(address.slice(0, 100))} is not the address of an artifact.`, {
        hint: "An address is artifact: and 64 hexadecimal digits, as in answers.",
      });
    await checkOutputPaths(context, { paths: [path], named: "<file> is" });
    await withArtifacts(context, (artifacts) => write(context, artifacts, { id, path }));
    return 0;
  },
};

/** Calls `work` with the artifacts of the folder that the configuration names, else with those of the store. */
async function withArtifacts(context: CommandContext, work: (artifacts: ArtifactStore) => Promise<void>): Promise<void> {
  const { options } = context;
  if (options.store === undefined && (options.config !== undefined || findConfig(process.cwd()) !== undefined)) {
    const { config } = await readConfig(context);
    const folder = typeof config.runtime.artifacts === "object" ? buildArtifacts(config, undefined) : undefined;
    if (folder !== undefined && folder !== false) return work(folder);
  }
  await withStore(context, { readOnly: true }, (store) => work(store.artifacts));
}

interface ArtifactRequest {
  readonly id: string;
  readonly path: string;
}

async function write({ options, out, signal }: CommandContext, artifacts: ArtifactStore, { id, path }: ArtifactRequest): Promise<void> {
  const artifact = await artifacts.get(id);
  if (artifact === undefined) throw new ToolError("not_found", `There is no artifact ${id}.`);
  const bytes = Buffer.from(artifact.data, "base64");
  await writeFileAtomically(path, [bytes], { force: options.force, signal });
  const { mediaType } = artifact;
  out.write(
    `${options.json ? safeJson({ artifact: id, file: path, mediaType, bytes: bytes.length }) : `wrote ${safeText(path)}: ${safeText(mediaType)}, ${plural(bytes.length, "byte")}`}\n`,
  );
}
