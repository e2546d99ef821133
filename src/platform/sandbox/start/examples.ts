import { createHash } from 'node:crypto';
import { paths } from '../../../wire/paths.js';
import type { WorldDocument } from '../document.js';
import { controlPath } from '../requests.js';

/** A command to paste into a shell. */
export interface Example {
  readonly what: string;
  readonly line: string;
}

const json = `-H 'Content-Type: application/json'`;

/** Which tokens of the seeded world are valid now. */
export interface Usable {
  isValid(token: string): boolean;
  /** Whether a refresh token was not used yet. */
  isFresh(refreshToken: string): boolean;
}

/**
 * Returns commands for the seeded world that succeed now. The token of a person expires after two hours; its command is then
 * one that gets a new token, once. `base` must not contain a quote or a space.
 */
export function examples(
  base: string,
  { companies, users, apps }: WorldDocument,
  usable: Usable,
): readonly Example[] {
  const company = companies.find(({ token }) => usable.isValid(token));
  const [user] = users;
  const [app] = apps;
  const bearer = (token: string) => `-H 'Authorization: Bearer ${token}'`;
  return [
    ...(company === undefined
      ? []
      : [
          {
            what: 'The investments of a company, with names.',
            line: `curl -s '${base}${paths.investments}' ${bearer(company.token)}`,
          },
        ]),
    ...(user !== undefined && usable.isValid(user.token)
      ? [{ what: 'Who signed in.', line: `curl -s '${base}${paths.me}' ${bearer(user.token)}` }]
      : []),
    ...(user !== undefined &&
    app !== undefined &&
    !usable.isValid(user.token) &&
    usable.isFresh(user.refreshToken)
      ? [
          {
            what: `A new token of ${user.name}, whose token has expired. It works once.`,
            line: `curl -s '${base}${paths.token}' -d grant_type=refresh_token -d refresh_token=${user.refreshToken} -d client_id=${app.clientId} -d client_secret=${app.clientSecret}`,
          },
        ]
      : []),
    ...(app === undefined
      ? []
      : [
          {
            what: 'A token of an application.',
            line: `curl -s '${base}${paths.token}' -d grant_type=client_credentials -d client_id=${app.clientId} -d client_secret=${app.clientSecret}`,
          },
        ]),
    {
      what: 'Five random changes. They are published and announced before the call returns.',
      line: `curl -s '${base}${controlPath}/churn' ${json} -d '{"changes":5}'`,
    },
    {
      what: 'A webhook endpoint on this machine. The response has its secret.',
      line: `curl -s '${base}${controlPath}/webhooks' ${json} -d '{"url":"http://127.0.0.1:8787/webhooks","events":["investment.changed"]}'`,
    },
    {
      what: 'A fault: the next listing of investments returns 503.',
      line: `curl -s '${base}${controlPath}/faults' ${json} -d '{"method":"GET","path":"${paths.investments}","action":{"status":503}}'`,
    },
  ];
}

/** The code of the start page's consent link is never redeemed, so its verifier is not secret. */
const challenge = createHash('sha256').update('the start page of the sandbox').digest('base64url');

/** Returns the path of the consent page for the first application of the sandbox realm. */
export function consentLink({ apps }: WorldDocument): string | null {
  const [app] = apps;
  if (app === undefined) return null;
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUri,
    scope: 'read:profile read:investments',
    state: 'start-page',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return `${paths.sandboxAuthorize}?${query}`;
}
