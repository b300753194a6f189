/** Checks that an artifact has the content whose hash is its id. */
import { hash } from "node:crypto";
import type { Artifact } from "../../core/artifact.ts";
import { ToolError } from "../../core/error.ts";

/** Returns the artifact unchanged. @param place where it is kept, for the error. @throws ToolError `corrupt_record` */
export function checkArtifact(artifact: Artifact, place: string): Artifact {
  if (hash("sha256", Buffer.from(artifact.data, "base64")) === artifact.id) return artifact;
  throw new ToolError("corrupt_record", `The artifact ${artifact.id} in ${place} is damaged: its bytes do not match its SHA-256.`);
}
