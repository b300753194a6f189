/** Converts an HTML page to Markdown, or a PDF document to text, in a thread with limits. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ToolError } from "../../core/error.ts";
import { packageLoadError, type LazyPackage } from "../../core/system/lazy-package.ts";
import { systemPorts } from "../../core/system/system-ports.ts";

export type DocumentKind = "html" | "pdf";

export interface ConvertJob {
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
  /** The address of the page, for its relative links. */
  readonly url?: string;
}

export interface ConvertedText {
  readonly text: string;
  readonly title: string | undefined;
}

export type ConvertAnswer = ConvertedText | { readonly error: string; readonly isUnloaded: boolean };

const PACKAGES = {
  html: { name: "defuddle", need: "it reads HTML pages" },
  pdf: { name: "unpdf", need: "it reads PDF documents" },
} as const satisfies Record<DocumentKind, LazyPackage>;
/** Maximum duration of a conversion, in milliseconds: shorter than the usual timeout, after which the call would be tried again. */
const MAX_CONVERT_MS = 20_000;
const MEMORY = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 } as const;

/**
 * Converts a document. The thread is terminated at the end, and as soon as the signal aborts, for example at the call's timeout.
 *
 * @throws ToolError `execution_failed` for a document that cannot be read in 512 MB and 20 s; `unavailable` if the package cannot be loaded; the reason of the
 * signal, as a rejection
 */
export async function convertDocument(job: ConvertJob, signal: AbortSignal, maxMs: number = MAX_CONVERT_MS): Promise<ConvertedText> {
  signal.throwIfAborted();
  const answer = await waitForAnswer(startWorker(job), { kind: job.kind, signal, maxMs });
  if (!("error" in answer)) return answer;
  if (answer.isUnloaded) throw packageLoadError(PACKAGES[job.kind], answer.error, { outcome: "not_started" });
  throw conversionError(job.kind, answer.error);
}

function startWorker(job: ConvertJob): Worker {
  const file = workerFile(import.meta.url);
  if (file === undefined)
    throw new ToolError("unavailable", "Documents are converted in a worker thread, and its file is not in the bundle.", {
      operatorHint: 'Mark the package "haft" as external in the bundler.',
    });
  return createWorker(file, job);
}

/** A separate function because of Turbopack: see `ProgramThread` for what it does with a variable that it can trace. */
function createWorker(file: URL, job: ConvertJob): Worker {
  return new Worker(file, { workerData: job, resourceLimits: MEMORY, env: {}, stdout: true, stderr: true });
}

/** A TypeScript file in the source; a JavaScript file in the package, whose other files are one folder deep. */
function workerFile(here: unknown): URL | undefined {
  if (typeof here !== "string" || !here.startsWith("file:")) return undefined;
  const file = new URL(here.endsWith(".ts") ? "./convert-worker.ts" : "../toolsets/convert/convert-worker.js", here);
  return existsSync(file) ? file : undefined;
}

interface ConvertLimits {
  readonly kind: DocumentKind;
  readonly signal: AbortSignal;
  readonly maxMs: number;
}

async function waitForAnswer(worker: Worker, { kind, signal, maxMs }: ConvertLimits): Promise<ConvertAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ConvertAnswer>();
  const cancel = (): void => reject(ToolError.fromUnknown(signal.reason));
  signal.addEventListener("abort", cancel, { once: true });
  worker.once("message", resolve).once("error", (error: unknown) => reject(conversionError(kind, ToolError.fromUnknown(error).message)));
  worker.once("exit", () => reject(conversionError(kind, "its converter ended early")));
  // real time: the thread does not follow a virtual clock
  const cancelTimer = systemPorts.clock.timer(() => reject(conversionError(kind, `it took more than ${maxMs / 1_000} s`)), maxMs);
  try {
    return await promise;
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", cancel);
    await worker.terminate();
  }
}

function conversionError(kind: DocumentKind, reason: string): ToolError {
  return new ToolError(
    "execution_failed",
    `The ${kind === "pdf" ? "PDF document" : "page"} cannot be converted: ${reason.replace(/\.$/u, "")}.`,
    {
      outcome: "failed",
    },
  );
}
