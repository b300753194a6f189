/** Gives the session as a recording, to keep or to replay. */
import { useState, type ReactNode } from "react";
import { failureOf } from "../server/connection.ts";
import { useConnection } from "../server/use-server.ts";

export function ExportButton({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const [failure, setFailure] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      const text = await client.call("exportRecording", { params: { sessionId } });
      setFailure(undefined);
      download(`${sessionId.replaceAll(/[^\w.-]+/gu, "-").slice(0, 80)}.jsonl`, text);
    } catch (thrown: unknown) {
      setFailure(failureOf(thrown).text);
    }
  };
  return (
    <>
      <button type="button" className="button wide-only" onClick={() => void save()}>
        Save recording
      </button>
      {failure !== undefined && (
        <span className="inline-failure" role="alert">
          {failure}
        </span>
      )}
    </>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
