/** Routes of the files that answers refer to. */
import { answer, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

export const artifactRoutes = {
  getArtifact: {
    method: "GET",
    path: "/v1/artifacts/{artifactId}",
    scope: "read",
    summary: "Get a file that an answer refers to by its address, artifact: and its id.",
    description:
      "A client that accepts application/octet-stream gets the bytes themselves, whole or the range that it asks for, with an entity tag that never changes.",
    asBytes: true,
    params: { artifactId: text("The id: 64 hexadecimal digits.", { minLength: 1, maxLength: 128 }) },
    answer: answer({
      id: text("The SHA-256 of its bytes."),
      mediaType: text("Its media type."),
      data: text("Its bytes, as base64."),
    }),
    example: { params: { artifactId: "6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0" } },
  },
} as const satisfies Routes;
