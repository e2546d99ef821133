import type { z } from 'zod';
import type { JsonObject } from '../../domain/json.js';
import type { Version } from '../../wire/versions.js';
import type { Exchange } from '../http/exchange.js';
import type { Services } from '../services.js';
import type { Intent } from './model.js';

/** A valid proposal, with the summary shown to the person who decides. */
export interface Plan {
  readonly resourceId: string;
  readonly summary: string;
}

/**
 * One kind of action that a person must approve. `propose` and `execute` throw a `Problem` when the action is not
 * possible. Its message goes to the proposer, or into the record of the failed intent.
 */
export interface IntentAction {
  readonly name: string;
  readonly scope: string;
  readonly resourceType: 'Club' | 'Company';
  readonly removedIn?: Version;
  /** `another`: anyone with permission except the proposer. `proposer`: only the proposer, for text in their name. */
  readonly decidedBy: 'another' | 'proposer';
  /** Daily limit per user; null when only the hourly limit applies. */
  readonly dailyLimit: 'commentProposals' | null;
  readonly params: z.ZodType<JsonObject>;
  /** Checks that the caller may propose the action on the resource and that it is possible now. */
  propose(exchange: Exchange, resourceId: string, params: JsonObject): Plan;
  mayDecide(services: Services, intent: Intent, userNo: number): boolean;
  /** Runs inside a transaction. */
  execute(services: Services, intent: Intent, approverNo: number, now: number): JsonObject;
}
