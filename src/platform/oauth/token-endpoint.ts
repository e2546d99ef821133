import { canonicalScopes, offeredScopes, splitScopes } from '../applications/scopes.js';
import { applicationOnlyScopes, universalScope } from '../contract/scopes.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { spendFrom } from '../http/steps/spend.js';
import { type Client, clientOf, findClient, refuseBasic } from './clients.js';
import { exchangeCode } from './codes.js';
import { formOf, needed, refuse } from './form.js';
import type { Outcome } from './outcome.js';
import { rotate } from './rotate.js';
import { insertToken, type MintedToken } from './tokens.js';

type Form = ReadonlyMap<string, string>;
type Answer = (exchange: Exchange, client: Client, form: Form) => Reply;

const answers: Readonly<Record<string, Answer>> = {
  authorization_code: (exchange, client, form) => {
    const given = {
      code: needed(form, 'code'),
      redirectUri: needed(form, 'redirect_uri'),
      verifier: needed(form, 'code_verifier'),
    };
    return reply(exchange, exchangeCode(exchange.services, client, given, exchange.now));
  },
  refresh_token: (exchange, client, form) => {
    const asked = splitScopes(form.get('scope'));
    return reply(
      exchange,
      rotate(exchange.services, client, needed(form, 'refresh_token'), asked, exchange.now),
    );
  },
  client_credentials: clientCredentials,
};

/** One endpoint for all grant types and both realms. The client id's prefix determines the realm of the tokens. */
export function tokenEndpoint(exchange: Exchange): Reply {
  const form = formOf(exchange);
  const grantType = needed(form, 'grant_type');
  const answer = Object.hasOwn(answers, grantType) ? answers[grantType] : undefined;
  if (answer === undefined) {
    return refuse('unsupported_grant_type', `Use one of ${Object.keys(answers).join(', ')} as grant_type.`);
  }
  refuseBasic(exchange, form);
  countClient(exchange, form);
  const client = clientOf(exchange, form);
  if (client.app.status === 'suspended') {
    return refuse('unauthorized_client', 'The application is suspended and gets no new tokens.');
  }
  return answer(exchange, client, form);
}

function clientCredentials(exchange: Exchange, client: Client, form: Form): Reply {
  if (!client.app.confidential) {
    return refuse(
      'unauthorized_client',
      'A public client cannot authenticate, so it cannot use client credentials.',
    );
  }
  const offered = offeredScopes(client.app.scopes);
  const asked = canonicalScopes(splitScopes(form.get('scope')));
  const scopes = asked.length === 0 ? [universalScope] : asked;
  const beyond = scopes.filter(
    (scope) => scope !== universalScope && !(applicationOnlyScopes.includes(scope) && offered.has(scope)),
  );
  if (beyond.length > 0) {
    return refuse('invalid_scope', `Client credentials cannot hold ${beyond.join(' ')}.`);
  }
  const wish = { kind: 'application', realm: client.realm, applicationNo: client.app.no, scopes } as const;
  const token = insertToken(exchange.services, wish, exchange.now);
  return granted(exchange, token, undefined, scopes);
}

function reply(exchange: Exchange, outcome: Outcome): Reply {
  if (outcome.kind === 'refused') return refuse(outcome.error, outcome.why);
  return granted(exchange, outcome.pair, outcome.pair.refreshToken, outcome.scopes);
}

function granted(
  exchange: Exchange,
  token: MintedToken,
  refreshToken: string | undefined,
  scopes: readonly string[],
): Reply {
  if (token.expiresAt === null) throw new Error('the token endpoint issues only tokens that expire');
  const body = {
    access_token: token.token,
    token_type: 'Bearer',
    expires_in: Math.floor((token.expiresAt - exchange.now) / 1000),
    refresh_token: refreshToken,
    scope: scopes.join(' '),
    created_at: Math.floor(exchange.now / 1000),
  };
  return { status: 200, body, headers: { pragma: 'no-cache' } };
}

/** Counts only existing clients, so that invented client ids cannot fill the table of windows. */
function countClient(exchange: Exchange, form: Form): void {
  const clientId = needed(form, 'client_id');
  if (findClient(exchange.services.state, clientId) === undefined) return;
  spendFrom(exchange.services, 'tokenEndpointClient', clientId, exchange.now);
}
