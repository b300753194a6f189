/** Mounts the dashboard in its page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme } from "./shell/theme.tsx";
import { addBasePath } from "./show/address.ts";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/replay.css";
import "./styles/timeline.css";

const root = document.querySelector("#root");
if (root === null) throw new Error("The page has no element for the dashboard.");
applyTheme();
addBasePath();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
