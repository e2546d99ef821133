import type { z } from 'zod';
import { canonicalJson, type JsonObject } from '../../domain/json.js';
import { withArticle } from '../../domain/with-article.js';
import type { createIntent, previewIntent } from '../contract/intents.js';
import { callerOf, type Exchange, type Step } from '../http/exchange.js';
import { accountOf } from '../http/idempotent.js';
import { invalidFields, Problem } from '../http/problem.js';
import { expandScopes } from '../http/scopes.js';
import { refuseWithout } from '../http/steps/refuse-without.js';
import { spendFrom } from '../http/steps/spend.js';
import { wording } from '../http/wording.js';
import { one } from '../state/statements.js';
import type { IntentAction, Plan } from './action.js';
import { type Intent, insertIntent, intentByKey, isRolledOutTo } from './model.js';

export type Actions = readonly IntentAction[];

/**
 * Returns the action named in the body. It is checked first, so that a removed action is reported before a missing
 * scope. Returns undefined when the body names no action, which validation then reports.
 */
function namedAction(actions: Actions, exchange: Exchange): IntentAction | undefined {
  const name = nameIn(exchange.rawBody.toString('utf8'));
  if (name === undefined) return undefined;
  const action = actions.find((known) => known.name === name);
  const removedIn = action?.removedIn;
  // ISO dates compare correctly as strings.
  const removed = removedIn !== undefined && exchange.version >= removedIn;
  if (action !== undefined && !removed) return action;
  throw new Problem(400, 'bad_request', 'Unknown action', {
    ...(removed ? { details: { removed_in_version: removedIn } } : {}),
  });
}

function nameIn(body: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const { action, action_name } = parsed as Record<string, unknown>;
    const name = action ?? action_name;
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}

const scopesOf = (actions: Actions): readonly string[] => [...new Set(actions.map(({ scope }) => scope))];

/** Requires the scope of the proposed action. */
export const requireActionScope =
  (actions: Actions): Step =>
  (exchange) => {
    const action = namedAction(actions, exchange);
    refuseWithout(exchange, action === undefined ? scopesOf(actions) : [action.scope]);
    refuseUnlessRolledOut(exchange, action);
  };

/** A preview requires any proposing scope. The scopes granted to an installation still limit it. */
export const requireAnyProposingScope =
  (actions: Actions, ...also: readonly string[]): Step =>
  (exchange) => {
    const action = namedAction(actions, exchange);
    refuseWithout(exchange, [...scopesOf(actions), ...also]);
    const caller = callerOf(exchange);
    if (action === undefined) return;
    if (caller.kind === 'installation') {
      const installation = one<{ scopes: string }>(
        exchange.services.state,
        'SELECT scopes FROM installations WHERE no = ?',
        [caller.installationNo],
      );
      if (!expandScopes((installation?.scopes ?? '').split(' ')).has(action.scope)) {
        throw new Problem(
          403,
          'insufficient_scope',
          `The installation was not granted ${action.scope}, which this action needs.`,
          { details: { required: [action.scope] } },
        );
      }
    }
    refuseUnlessRolledOut(exchange, action);
  };

function refuseUnlessRolledOut(exchange: Exchange, action: IntentAction | undefined): void {
  const caller = callerOf(exchange);
  if (action === undefined || caller.kind !== 'user') return;
  if (isRolledOutTo(exchange.services.state, action.name, caller.userNo)) return;
  throw new Problem(403, 'feature_disabled', `${action.name} is not enabled for this user yet.`);
}

interface Proposal {
  readonly action: IntentAction;
  readonly resourceId: string;
  readonly params: JsonObject;
}

function readProposal(
  actions: Actions,
  exchange: Exchange,
  body: z.output<typeof previewIntent.body>,
): Proposal {
  const action = namedAction(actions, exchange);
  if (action === undefined) throw invalid('action', 'required', 'action: name the action.');
  const type = body.resource_type ?? action.resourceType;
  if (type !== action.resourceType) {
    throw invalid(
      'resource_type',
      'invalid',
      `resource_type: ${action.name} acts on ${withArticle(action.resourceType)}.`,
    );
  }
  const parsed = action.params.safeParse(body.params ?? {}, { error: wording });
  if (!parsed.success) {
    throw invalidFields(
      parsed.error.issues.map((issue) => {
        const field = ['params', ...issue.path].join('.');
        return { field, code: 'invalid', message: `${field}: ${issue.message}.` };
      }),
    );
  }
  return { action, resourceId: body.resource_id, params: parsed.data };
}

const invalid = (field: string, code: string, message: string): Problem =>
  invalidFields([{ field, code, message }]);

export interface Preview {
  readonly proposal: Proposal;
  readonly plan: Plan;
}

export function preview(actions: Actions, exchange: Exchange<typeof previewIntent>): Preview {
  const body = exchange.input.body;
  const proposal = readProposal(actions, exchange, body);
  return { proposal, plan: proposal.action.propose(exchange, proposal.resourceId, proposal.params) };
}

export function proposeFromBody(
  actions: Actions,
  exchange: Exchange<typeof createIntent>,
): { intent: Intent; made: boolean } {
  const body = exchange.input.body;
  const proposal = readProposal(actions, exchange, body);
  return propose(exchange, proposal, body.idempotency_key, body.requested_by_agent ?? null);
}

/**
 * Returns the existing intent of an idempotency key without counting against the limits. The key is looked up before
 * the action is checked again, because that check rejects an action that was already executed.
 */
export function propose(
  exchange: Exchange,
  proposal: Proposal,
  key: string,
  agent: string | null,
): { readonly intent: Intent; readonly made: boolean } {
  const { services, now } = exchange;
  const caller = callerOf(exchange);
  const holder = accountOf(caller);
  const { action, resourceId, params } = proposal;
  const fingerprint = canonicalJson({ action: action.name, resource: resourceId, params });
  return services.state.transaction(() => {
    const existing = intentByKey(services.state, holder, key);
    if (existing !== undefined && existing.fingerprint !== fingerprint) throw keyConflict();
    if (existing !== undefined) return { intent: existing, made: false };
    const plan = action.propose(exchange, resourceId, params);
    if (action.dailyLimit !== null && caller.kind === 'user') {
      spendFrom(services, action.dailyLimit, `user:${caller.userNo}`, now);
    }
    spendFrom(services, 'pendingIntents', caller.key, now);
    const intent = insertIntent(
      services,
      {
        holder,
        application_no: caller.app.no,
        realm: caller.realm,
        user_no: caller.kind === 'user' ? caller.userNo : null,
        installation_no: caller.kind === 'installation' ? caller.installationNo : null,
        action: action.name,
        resource_type: action.resourceType,
        resource_id: plan.resourceId,
        params: JSON.stringify(params),
        idempotency_key: key,
        fingerprint,
        requested_by_agent: agent,
        impact_summary: plan.summary,
      },
      now,
    );
    return { intent, made: true };
  })();
}

const keyConflict = (): Problem =>
  new Problem(409, 'idempotency_conflict', 'This idempotency_key was used with a different request.', {
    remediation: 'Send a new key with a new proposal; repeat a key only with the very same one.',
  });
