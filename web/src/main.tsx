import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { agents } from "./live/agents.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import "./styles.css";

if (!location.pathname.startsWith("/ui/")) history.replaceState(null, "", "/ui/");
agents.start();

const page = document.getElementById("page");
if (!page) throw new Error("index.html has no #page.");
createRoot(page).render(
  <StrictMode>
    <ErrorBoundary what="The page" of="">
      <App />
    </ErrorBoundary>
  </StrictMode>,
);
