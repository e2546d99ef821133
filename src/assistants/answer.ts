import type { CallToolResult } from '@modelcontextprotocol/server';
import { Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { incompleteInstallation } from '../runtime/incomplete-installation.js';
import type { Logger } from '../runtime/logger.js';
import { showNamesHint } from '../store/query-refusals.js';

/**
 * The longest text of one result: more than an assistant can use, and far below the 10 MB at which a client of the
 * protocol drops the connection, also after every quote in it was escaped.
 */
export const answerCharactersMax = 1_000_000;

export interface AnswerParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Calls a tool and returns its result as the protocol's. A `Fault` becomes an error that the assistant can read and act
 * on. Any other error is logged, and the assistant learns only that the call failed.
 */
export async function answered(
  tool: string,
  { clock, logger }: AnswerParts,
  work: () => Promise<string>,
): Promise<CallToolResult> {
  const began = clock.monotonic();
  const tookMs = () => Math.round(clock.monotonic() - began);
  try {
    const text = await work();
    logger.info({ type: tool, tookMs: tookMs() }, 'answered a call');
    return { content: [{ type: 'text', text }] };
  } catch (error) {
    const fault = knownFault(error);
    if (fault === null) logger.error({ type: tool, tookMs: tookMs(), error }, 'a call failed');
    else logger.info({ type: tool, tookMs: tookMs(), code: fault.code }, 'refused a call');
    return {
      isError: true,
      content: [{ type: 'text', text: fault === null ? unexpected : explained(fault) }],
    };
  }
}

function knownFault(error: unknown): Fault | null {
  if (isFault(error)) return error;
  const incomplete = incompleteInstallation(error);
  return incomplete === null ? null : new Fault('internal', incomplete.message, { hint: incomplete.hint });
}

const unexpected = 'rosterd has reached an unexpected state. Its log on stderr has the error.';

/** Returns a fault as one or two sentences: what happened, and what to do. */
function explained({ message, about }: Fault): string {
  if (about.hint === undefined) return message;
  const hint = about.hint === showNamesHint ? maskedHint : about.hint;
  return `${message}\n${hint}`;
}

const maskedHint =
  'Leave identities, roster and message bodies out of the query. Names are masked because `rosterd mcp` was started without --identity; only the person who configures it can change that.';
