import type { FastifyError, FastifyReply, FastifyRequest, FastifySchema } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import type { z } from "zod";
import { innermost, issueWords } from "../boundary/schema-words.ts";
import { unknownField } from "../boundary/unknown-field.ts";
import type { ErrorBody } from "../protocol/api/error-body.ts";
import { isForWantOfRoom, isOutOfFiles } from "../store/disk/disk.ts";
import { StoreError } from "../store/errors.ts";
import { ScopeRefusal } from "../store/scope/scope-refusal.ts";

/** The request cannot be carried out, and the client can fix it. */
export class RefusedRequest extends Error {
  override readonly name = "RefusedRequest";
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Which fields of the body are wrong, and why. */
  readonly details: ErrorBody["error"]["details"];

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    details?: ErrorBody["error"]["details"],
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.details = details;
  }
}

/** A field of the body that is well-formed but wrong. */
function wrongField(field: string, problem: string, code = "bad_request"): RefusedRequest {
  return new RefusedRequest(400, code, `${field}: ${problem}`, {}, [{ field, problem }]);
}

export function notFound(message: string): RefusedRequest {
  return new RefusedRequest(404, "not_found", message);
}

/** The only place where errors become responses. Internal errors are not disclosed. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body, headers } = refusalFor(error, request.routeOptions.schema);
  if (status >= 500) request.log.error({ err: error }, "a request failed");
  // Connections are open files too: those that only wait for a next question make room.
  if (isOutOfFiles(error)) request.server.server.closeIdleConnections();
  return reply.code(status).headers(headers).type("application/json").send(JSON.stringify(body));
}

interface ErrorResponse {
  status: number;
  body: ErrorBody;
  headers: Readonly<Record<string, string>>;
}

function refusalFor(error: unknown, schemas: FastifySchema | undefined): ErrorResponse {
  if (error instanceof RefusedRequest)
    return errorResponse(error.status, error.code, error.message, error.headers, error.details);
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error, schemas);
  if (error instanceof ScopeRefusal && error.reason === "changed") return errorResponse(409, "changed", error.message);
  if (error instanceof ScopeRefusal) return errorResponse(scopeStatus(error), "outside_scope", error.message);
  if (isOutOfFiles(error))
    return errorResponse(
      503,
      "too_many_files",
      "The server has too many open files, so the request was not carried out. Try again.",
    );
  if (isForWantOfRoom(error))
    return errorResponse(
      507,
      "disk_full",
      "The server's disk is full, so the request was not carried out. Free some space and try again.",
    );
  if (error instanceof StoreError)
    return errorResponse(
      503,
      "not_recorded",
      "The request could not be recorded, so it was not carried out. The server's log says why.",
    );
  if (!(error instanceof Error)) return internal();
  const known = KNOWN[error.name];
  if (known) return errorResponse(known[0], known[1], error.message);
  if (error.name === "HumanRefusal" && "code" in error)
    return errorResponse(HUMAN_REFUSALS[String(error.code)] ?? 409, String(error.code), error.message);
  if (error.name === "WrongField" && "field" in error && "code" in error)
    return refusalFor(wrongField(String(error.field), error.message, String(error.code)), schemas);
  return fromFramework(error);
}

/** By name: they live in rooms that need not be loaded for this. */
const KNOWN: Readonly<Record<string, readonly [number, string]>> = {
  NotFoundError: [404, "not_found"],
  FileNotFound: [404, "not_found"],
  TooLittleMoney: [409, "too_little_money"],
  UnpricedModel: [400, "unpriced_model"],
  ElsewhereError: [503, "elsewhere"],
  FencedError: [503, "elsewhere"],
  DrainingError: [503, "draining"],
  NotCarriedError: [503, "not_carried"],
  NoReplyError: [504, "no_reply"],
  ProjectLockedError: [409, "project_in_use"],
};

const HUMAN_REFUSALS: Readonly<Record<string, number>> = { not_found: 404, bad_request: 400 };

function scopeStatus({ reason, message }: ScopeRefusal): number {
  if (reason === "too_large") return 413;
  // A name with ".." in it asks for something outside.
  if (reason === "invalid" && !message.includes('".."')) return 400;
  return 403;
}

function invalid(error: FastifyError, schemas: FastifySchema | undefined): ErrorResponse {
  const context = error.validationContext ?? "body";
  const where = context === "body" ? "" : `${context}.`;
  const schema: unknown = schemas && Reflect.get(schemas, context);
  const details = innermost((error.validation ?? []).map(issueOf)).map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    const field = `${where}${[...issue.path, ...(keys.length > 0 ? [keys.join(", ")] : [])].join(".") || "body"}`;
    return { field, problem: keys[0] === undefined ? issueWords(issue) : unknownField(keys[0], schema, issue.path) };
  });
  const message = details.map(({ field, problem }) => `${field}: ${problem}`).join("; ");
  return { status: 400, body: { error: { code: "bad_request", message, details } }, headers: {} };
}

/** Fastify's plugin has taken an issue of the schema apart: put together again. */
function issueOf({ keyword, instancePath, message = "", params }: FastifySchemaValidationError): z.core.$ZodIssue {
  const path = instancePath.split("/").filter((part) => part !== "");
  return { ...params, code: keyword, path, message } as unknown as z.core.$ZodIssue;
}

const FRAMEWORK: Readonly<Record<string, readonly [number, string, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, "too_large", "The body is too large."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, "not_json", "The Content-Type must be application/json."],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, "bad_request", "The body is empty; JSON was expected."],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, "bad_request", "The body is not valid JSON."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, "bad_request", "The length of the body differs from its Content-Length."],
};

function fromFramework(error: Error): ErrorResponse {
  const code = "code" in error ? String(error.code) : "";
  const known = FRAMEWORK[code];
  if (known) return errorResponse(...known);
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  return status >= 400 && status < 500 ? errorResponse(status, "bad_request", error.message) : internal();
}

function internal(): ErrorResponse {
  return errorResponse(500, "internal", "Internal error. The server's log says what happened.");
}

function errorResponse(
  status: number,
  code: string,
  message: string,
  headers: ErrorResponse["headers"] = {},
  details?: ErrorBody["error"]["details"],
): ErrorResponse {
  return { status, body: { error: { code, message, ...(details && { details }) } }, headers };
}
