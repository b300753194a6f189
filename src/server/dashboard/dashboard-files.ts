/** Serves the files of the dashboard, as the build wrote them. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { HttpError } from "../http/http-error.ts";

/** First segments of the paths that the page routes by itself. */
export const SCREENS: ReadonlySet<string> = new Set([
  "",
  "sessions",
  "approvals",
  "tools",
  "jobs",
  "agents",
  "schedules",
  "audit",
  "processes",
  "health",
  "file",
]);

/**
 * The page loads files and data from its own server only: no inline scripts or styles, no `eval`, no frames.
 *
 * @see https://www.w3.org/TR/CSP3/ and https://www.w3.org/TR/trusted-types/
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

interface PageFile {
  readonly body: Buffer<ArrayBuffer>;
  readonly gzip: Buffer<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DashboardFilesOptions {
  /** The folder that the build wrote. @default the build's output folder, if it exists */
  readonly folder?: URL | undefined;
  /** The path of the server, without a trailing slash. @default the root */
  readonly basePath?: string | undefined;
}

/** The page and its files, read at the first request for them. */
export class DashboardFiles {
  readonly #folder: URL | undefined;
  readonly #basePath: string;
  #files: ReadonlyMap<string, PageFile> | undefined;

  constructor({ folder = findFolder(), basePath = "" }: DashboardFilesOptions = {}) {
    this.#folder = folder;
    this.#basePath = basePath;
  }

  /**
   * Returns the response to a request for the page or one of its files; undefined for any other request.
   *
   * @throws HttpError 404 if the files of the page are missing
   */
  response(request: Request): Response | undefined {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const path = new URL(request.url).pathname;
    const isScreen = SCREENS.has(path.split("/")[1] ?? "") && !path.startsWith("//");
    if (!isScreen && !path.startsWith("/assets/")) return undefined;
    this.#files ??= this.#read();
    const file = this.#files.get(isScreen ? "/index.html" : path);
    if (file === undefined && isScreen) throw notBuiltError();
    return file === undefined ? undefined : toResponse(file, request);
  }

  /** Returns the page with status 404, which then says that nothing is there; undefined if its files are missing or the client is not a browser. */
  notFoundResponse(request: Request): Response | undefined {
    if (!(request.headers.get("accept") ?? "").includes("text/html")) return undefined;
    this.#files ??= this.#read();
    const page = this.#files.get("/index.html");
    return page === undefined ? undefined : toResponse(page, request, 404);
  }

  #read(): ReadonlyMap<string, PageFile> {
    const files = new Map<string, PageFile>();
    if (this.#folder === undefined || !existsSync(new URL("index.html", this.#folder))) return files;
    for (const name of ["index.html", ...readdirSync(new URL("assets/", this.#folder)).map((asset) => `assets/${asset}`)]) {
      const built = readFileSync(new URL(name, this.#folder));
      const body = name === "index.html" ? insertBasePath(built, this.#basePath) : built;
      files.set(`/${name}`, { body, gzip: gzipSync(body), headers: headersOf(name) });
    }
    return files;
  }
}

/** Puts the base path into the page, which was built with relative addresses. */
function insertBasePath(page: Buffer, basePath: string): Buffer<ArrayBuffer> {
  return Buffer.from(page.toString().replaceAll('="./', `="${basePath}/`));
}

function toResponse(file: PageFile, request: Request, status = 200): Response {
  const takesGzip = /\bgzip\b/u.test(request.headers.get("accept-encoding") ?? "");
  const headers = { ...file.headers, vary: "accept-encoding", ...(takesGzip ? { "content-encoding": "gzip" } : {}) };
  return new Response(request.method === "HEAD" ? null : takesGzip ? file.gzip : file.body, { status, headers });
}

/** Names of assets contain a hash of their content, so assets may be cached for ever; the page, which names them, may not. */
function headersOf(name: string): Readonly<Record<string, string>> {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  if (name !== "index.html") return { "content-type": type, "cache-control": "public, max-age=31536000, immutable" };
  return { "content-type": type, "cache-control": "no-cache", "content-security-policy": POLICY };
}

function notBuiltError(): HttpError {
  return new HttpError(404, "not_found", "This server has no dashboard: its files are missing.", {
    operatorHint: "In a bundle: mark the package haft as external in the bundler's settings. In a clone of Haft: npm run build.",
  });
}

/** Finds the folder next to the chunks of the package or, when run from source, where the build of the clone writes it. undefined in a bundle. */
function findFolder(here: unknown = import.meta.url): URL | undefined {
  if (typeof here !== "string" || !here.startsWith("file:")) return undefined;
  const places = here.endsWith(".ts") ? ["../../../dist/dashboard/"] : ["../dashboard/", "./dashboard/"];
  return places.map((place) => new URL(place, here)).find((folder) => existsSync(new URL("index.html", folder)));
}
