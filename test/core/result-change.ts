/** The fields with which a test's builder of results replaces those of a result that is `ok`. */
import type { OkResult, ResultFields, ResultWithError } from "../../src/core/result.ts";

export type ResultChange = Partial<OkResult> | (Partial<ResultFields> & Pick<ResultWithError, "status" | "error">);
