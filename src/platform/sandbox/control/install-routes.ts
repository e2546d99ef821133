import { z } from 'zod';
import { type Random, seededRandom } from '../../../runtime/random.js';
import { type Exchange, ok, type Reply } from '../../http/exchange.js';
import { badParameter, Problem } from '../../http/problem.js';
import type { Route } from '../../http/route.js';
import type { State } from '../../state/database.js';
import { all } from '../../state/statements.js';
import type { ReadyDocument } from '../document.js';
import { controlPath } from '../requests.js';
import { controlRoute } from './control-route.js';
import {
  activeInstallations,
  applicationFor,
  type HeldInstallation,
  heldInstallation,
  type InstalledFor,
  installOn,
  listInstalls,
  type MadeInstallation,
  reinstall,
  revokeAsFounder,
} from './installs.js';

/** As many as fit into a body of the size that the server takes. */
const ids = z.array(z.string()).min(1).max(30_000);
const chosen = {
  /** Id or client id. */
  application: z.string().optional(),
  realm: z.enum(['test', 'live']).default('test'),
  /** That many, chosen at random; the same ones for the same seed and the same world. */
  count: z.int().min(1).max(100_000).optional(),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
  all: z.literal(true).optional(),
};
const terms = { scopes: z.array(z.string()).optional(), tokens: z.boolean().default(false) };

interface Choice {
  readonly companies?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly count?: number | undefined;
  readonly seed?: number | undefined;
  readonly all?: true | undefined;
}

const oneChoice = ({ companies, ids: named, count, all: whole }: Choice): boolean =>
  [companies, named, count, whole].filter((given) => given !== undefined).length === 1;
const seedFits = ({ count, seed }: Choice): boolean => seed === undefined || count !== undefined;
const seedAlone = { path: ['seed'], message: 'chooses among many: give it with count' };

const installBody = z
  .strictObject({ ...chosen, ...terms, companies: ids.optional() })
  .refine(oneChoice, 'give one of companies, count and all')
  .refine(seedFits, seedAlone);
const revokeBody = z
  .strictObject({ ...chosen, ids: ids.optional() })
  .refine(oneChoice, 'give one of ids, count and all')
  .refine(seedFits, seedAlone);
const reinstallBody = z
  .strictObject({ ...chosen, ...terms, ids: ids.optional() })
  .refine(oneChoice, 'give one of ids, count and all')
  .refine(seedFits, seedAlone);

/** Installs and revokes as founders do, in bulk. A call is one transaction: it does everything, or nothing. */
export function installRoutes(ready: () => ReadyDocument): readonly Route[] {
  const at = (path: string) => `${controlPath}/installations${path}`;
  return [
    controlRoute('GET', at(''), null, list),
    controlRoute('POST', at(''), installBody, (exchange, body) =>
      together(exchange, () => {
        const { services, now } = exchange;
        const installed = applicationFor(services.state, body.application, body.realm);
        const free = () => companiesWithout(services.state, installed, ready());
        const companies = body.companies ?? choose(free(), body, services.random, 'companies without one');
        return companies.map((company) => installOn(services, installed, company, body, now));
      }),
    ),
    controlRoute('POST', at('/revoke'), revokeBody, (exchange, body) =>
      together(exchange, () =>
        heldOf(exchange, body).map((held) => {
          revokeAsFounder(exchange.services, held, exchange.now);
          return { id: held.id, company: held.company };
        }),
      ),
    ),
    controlRoute('POST', at('/reinstall'), reinstallBody, (exchange, body) =>
      together(exchange, () =>
        heldOf(exchange, body).map((held) => reinstall(exchange.services, held, body, exchange.now)),
      ),
    ),
  ];
}

type Touched = MadeInstallation | { readonly id: string; readonly company: string | null };

function together(exchange: Exchange, act: () => readonly Touched[]): Reply {
  const installations = exchange.services.state.transaction(act)();
  return ok({ ids: installations.map(({ id }) => id), installations });
}

function heldOf(
  { services }: Exchange,
  body: Choice & { readonly application?: string | undefined; readonly realm: 'test' | 'live' },
): readonly HeldInstallation[] {
  const { state, random } = services;
  if (body.ids !== undefined) return body.ids.map((id) => heldInstallation(state, id));
  const installed = applicationFor(state, body.application, body.realm);
  return choose(activeInstallations(state, installed), body, random, 'active installations');
}

/** Returns the companies of the ready document without an active installation. The others only fill the catalog. */
function companiesWithout(
  state: State,
  { app, realm }: InstalledFor,
  { companies, uninstalled, live }: ReadyDocument,
): readonly string[] {
  const known = realm === 'live' ? live.companies : [...companies, ...uninstalled];
  return all<{ id: string }>(
    state,
    `SELECT c.id FROM companies c JOIN json_each(?) known ON known.value = c.id WHERE NOT EXISTS
       (SELECT 1 FROM installations i WHERE i.application_no = ? AND i.company_no = c.no AND i.revoked_at IS NULL)
     ORDER BY c.no`,
    [JSON.stringify(known.map(({ id }) => id)), app.no],
  ).map(({ id }) => id);
}

/** Returns all items, or `count` of them in a random order. */
function choose<Item>(items: readonly Item[], choice: Choice, random: Random, what: string): readonly Item[] {
  const { count = items.length, seed } = choice;
  if (choice.all === true) return items;
  if (count > items.length)
    throw new Problem(409, 'conflict', `There are ${items.length} ${what}, not ${count}.`);
  const drawn = [...items];
  const source = seed === undefined ? random : seededRandom(seed);
  for (let index = 0; index < count; index += 1) {
    const other = index + Math.floor(source.fraction() * (drawn.length - index));
    const [here, there] = [drawn[index], drawn[other]];
    if (here === undefined || there === undefined) continue;
    drawn[index] = there;
    drawn[other] = here;
  }
  return drawn.slice(0, count);
}

/** `?application=`, `?realm=`, `?company=` and `?status=` filter. */
function list({ services, query }: Exchange): Reply {
  const realm = query.get('realm') ?? 'test';
  if (realm !== 'test' && realm !== 'live') throw badParameter('realm', 'realm must be test or live.');
  const status = query.get('status');
  if (status !== null && status !== 'active' && status !== 'revoked')
    throw badParameter('status', 'status must be active or revoked.');
  const installed = applicationFor(services.state, query.get('application') ?? undefined, realm);
  const data = listInstalls(services.state, installed, { company: query.get('company'), status });
  return ok({ data, count: data.length });
}
