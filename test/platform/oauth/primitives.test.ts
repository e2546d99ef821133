import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { answersChallenge, isChallenge } from '../../../src/platform/oauth/pkce.js';
import { withParameters } from '../../../src/platform/oauth/redirect-uris.js';
import { sourceOf } from '../../../src/platform/pages/layout.js';
import { html } from '../../../src/runtime/html.js';

describe('PKCE', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

  test('PKCE: the test vector of RFC 7636 appendix B verifies', () => {
    expect(isChallenge(challenge)).toBe(true);
    expect(answersChallenge(verifier, challenge)).toBe(true);
    expect(answersChallenge(`${verifier.slice(0, -1)}j`, challenge)).toBe(false);
  });

  test.each(['', 'a'.repeat(42), 'a'.repeat(129), `${'a'.repeat(42)}=`, `${'a'.repeat(43)}\n`])(
    'PKCE: the verifier %j is invalid',
    (wrong) => {
      expect(answersChallenge(wrong, challenge)).toBe(false);
      // Nor for the challenge that was made from it.
      const own = createHash('sha256').update(wrong, 'ascii').digest('base64url');
      expect(answersChallenge(wrong, own)).toBe(false);
    },
  );
});

describe('pages', () => {
  test('html: values are escaped in text and attributes, and HTML is not escaped twice', () => {
    const inner = html`<b>${'<&>'}</b>`;
    expect(html`<p title="${`"'`}">${inner}${[inner, inner]}${null}${7}</p>`.text).toBe(
      '<p title="&quot;&#39;"><b>&lt;&amp;&gt;</b><b>&lt;&amp;&gt;</b><b>&lt;&amp;&gt;</b>7</p>',
    );
  });

  test('the CSP source of a URL is its origin, or its scheme when CSP cannot express the host', () => {
    expect(sourceOf('https://partner.example/cb?x=1')).toBe('https://partner.example');
    expect(sourceOf('http://127.0.0.1:8790/cb')).toBe('http://127.0.0.1:8790');
    expect(sourceOf('http://[::1]:8790/cb')).toBe('http:');
    expect(sourceOf('com.partner.app:/cb')).toBe('com.partner.app:');
  });
});

test('redirect parameters are appended to a URI without breaking it or the header line', () => {
  const state = 'a&b=c#d\r\nSet-Cookie: x';
  const to = withParameters('https://partner.example/cb?x=1', { code: 'c', state, absent: null });
  expect(to).not.toMatch(/[\r\n]/);
  expect([...new URL(to).searchParams]).toEqual([
    ['x', '1'],
    ['code', 'c'],
    ['state', state],
  ]);
});
