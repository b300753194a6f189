/** Writes docs/reference/http-api.md from the table of routes. `npm run docs` runs it, and a test compares. */
import { writeFileSync } from "node:fs";
import { httpApiPage } from "./http-api-page.ts";

writeFileSync(new URL("../docs/reference/http-api.md", import.meta.url), httpApiPage());
