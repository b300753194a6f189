/** `haft open`: shows a recording or a conversation in the dashboard. */
import { basename } from "node:path";
import { ToolError } from "../../core/error.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { createSecret } from "../../net/secret.ts";
import { serveFile } from "../../server/dashboard/file-server.ts";
import { HttpError } from "../../server/http/http-error.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { stderrPorts } from "../open/open-runtime.ts";
import { listenForStop } from "../open/graceful-stop.ts";
import { readPieces } from "../input/read-input.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { readPort, throwPortError } from "../input/read-port.ts";
import { throwIfBroken } from "../throw-if-broken.ts";

export const openCommand: CommandBody = {
  details: [
    "The file is a recording that haft sessions export wrote, or a conversation of",
    "OpenAI, Anthropic or Gemini as JSON or JSON Lines. It is served to this machine",
    "only, at an address that holds a secret, and is never changed. The file is read",
    "again when the page is loaded again. No configuration is read, and no tool runs.",
    "",
    "The address is printed; open it in a browser. Ctrl-C ends it.",
  ],
  args: [1, 1],
  options: ["port"],
  examples: ["haft open travel.jsonl", "haft open conversation.json --port 8080"],
  async run(context) {
    const [file = ""] = context.args;
    if (file === "-") throw new ToolError("invalid_argument", "haft open takes the name of a file, not standard input.", { hint: HINT });
    await checkReadable(context, file); // an unreadable file is an error before anything is served
    const server = await serve(context, file);
    try {
      if (context.options.json) context.out.writeJson({ url: server.pageUrl });
      else context.out.print(server.pageUrl);
      context.err.write(`haft: showing ${safeText(basename(file))}; Ctrl-C ends it\n`);
      const { stopped, releaseInterrupt } = listenForStop(context);
      await stopped;
      releaseInterrupt();
      throwIfBroken(context.signal);
      return 0;
    } finally {
      await server.close(async () => {});
    }
  },
};

const HINT = "For example: haft open travel.jsonl";

async function serve(context: CommandContext, file: string): ReturnType<typeof serveFile> {
  const { clock, ids } = systemPorts;
  const { log } = { ...systemPorts, ...stderrPorts(context) };
  const token = createSecret();
  const open = (): ReadableStream<Uint8Array> => ReadableStream.from(encoded(readPieces(context, file)));
  try {
    return await serveFile({ token, open, port: readPort(context.options.port ?? "0", "--port"), ports: { clock, ids, log } }).catch(
      (thrown: unknown) => throwPortError(thrown, "--port"),
    );
  } catch (thrown: unknown) {
    if (!(thrown instanceof HttpError)) throw thrown;
    throw new ToolError("not_found", thrown.message, { hint: thrown.operatorHint ?? "Install haft again." });
  }
}

/** Checks that the file has a JSON object or array, as recordings and conversations do. The page shows the readable parts of a damaged file. */
async function checkReadable(context: CommandContext, file: string): Promise<void> {
  for await (const piece of readPieces(context, file)) if (/[[{]/u.test(piece)) return;
  throw new ToolError("invalid_argument", `The file ${JSON.stringify(file)} has neither a JSON object nor an array.`, {
    hint: "Name a recording that haft sessions export wrote, or a conversation as JSON or JSON Lines.",
  });
}

async function* encoded(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(piece);
}
