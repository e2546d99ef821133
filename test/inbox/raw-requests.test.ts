import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { createReceiver, type Receiver } from '../../src/inbox/receiver.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { MemoryInbox } from './support/memory-inbox.js';
import { secret, signed } from './support/raw-http.js';

/**
 * Requests byte for byte. Each case lists the statuses that come back before the server closes the connection; `[]`
 * means that it closes without a response. After each case a genuine delivery is accepted.
 */
interface Case {
  readonly sent: string | Buffer | readonly (string | Buffer)[];
  readonly statuses: readonly number[];
  /**
   * Number of stored rows; the number of 202 responses by default. Requests after the last response of a connection
   * are not answered.
   */
  readonly stored?: number;
  /** What the sender does after its bytes; by default it waits for the responses. */
  readonly after?: 'ends' | 'cuts';
}

const canary = 'CANARY-7f3a';
const line = 'POST /webhooks HTTP/1.1';
let number = 0;
const event = (note = '') => {
  number += 1;
  return JSON.stringify({
    id: `evt_raw${number}`,
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    installation: { id: 'inst_1', target: null, test: false },
    data: { id: 'inv_1', visible: true, company: 'co_1', note },
  });
};
const now = () => Math.floor(Date.now() / 1000);
const json = 'Content-Type: application/json';
const lengthOf = (body: string | Buffer) => `Content-Length: ${Buffer.byteLength(body)}`;
const signatureOf = (body: string | Buffer) => `Service-Signature: ${signed(body, now())}`;
const request = (lines: readonly string[], body: string | Buffer = '') =>
  Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
/** A genuine delivery with extra lines before or instead of the usual ones. */
const genuine = (more: readonly string[] = [], first = line, body: string | Buffer = event()) =>
  request([first, 'Host: a', json, lengthOf(body), signatureOf(body), ...more], body);
const chunked = (pieces: readonly string[], more: readonly string[] = [], last = '0\r\n\r\n') => {
  const body = pieces.join('');
  const head = [line, 'Host: a', json, 'Transfer-Encoding: chunked', signatureOf(body), ...more];
  const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`);
  return request(head, chunks.join('') + last);
};
const forged = (more: readonly string[] = [], body = event(canary)) =>
  request(
    [line, 'Host: a', json, lengthOf(body), `Service-Signature: t=${now()},v1=${canary}`, ...more],
    body,
  );
const signedAs = (body: string | Buffer) => genuine([], line, body);

const cases: Readonly<Record<string, () => Case>> = {
  // The request line.
  'a request line without a version': () => ({ sent: `POST /webhooks\r\n\r\n`, statuses: [415] }),
  'a request line of two words too many': () => ({
    sent: `POST /webhooks a b HTTP/1.1\r\nHost: a\r\n\r\n`,
    statuses: [400],
  }),
  'an unknown method': () => ({ sent: `${canary} / HTTP/1.1\r\nHost: a\r\n\r\n`, statuses: [400] }),
  'a method in small letters': () => ({
    sent: 'post /webhooks HTTP/1.1\r\nHost: a\r\n\r\n',
    statuses: [400],
  }),
  'no path': () => ({ sent: 'POST  HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [400] }),
  'HTTP/2.0 by name': () => ({ sent: 'POST /webhooks HTTP/2.0\r\nHost: a\r\n\r\n', statuses: [415] }),
  'HTTP/9.9': () => ({ sent: 'POST /webhooks HTTP/9.9\r\nHost: a\r\n\r\n', statuses: [400] }),
  'HTTP/0.9': () => ({ sent: 'GET /\r\n', statuses: [400], after: 'ends' }),
  'the preface of HTTP/2': () => ({ sent: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [400] }),
  'the greeting of TLS': () => ({ sent: Buffer.from('16030100c8010000c40303', 'hex'), statuses: [400] }),
  'the greeting of SSH': () => ({ sent: 'SSH-2.0-OpenSSH_9.6\r\n', statuses: [400] }),
  'the header of the PROXY protocol': () => ({
    sent: Buffer.concat([Buffer.from('PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n'), genuine()]),
    statuses: [400],
  }),
  'JSON without HTTP': () => ({ sent: event(canary), statuses: [400] }),
  'a leading NUL': () => ({ sent: '\0', statuses: [400] }),
  'a NUL in the path': () => ({ sent: 'GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [400] }),
  'a NUL in the method': () => ({ sent: 'PO\0ST /webhooks HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [400] }),
  'bytes beyond ASCII in the path': () => ({
    sent: Buffer.from('GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1'),
    statuses: [400],
  }),
  'a tab in the path': () => ({ sent: 'GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [400] }),
  'a byte order mark before the method': () => ({
    sent: Buffer.from('\ufeffGET / HTTP/1.1\r\nHost: a\r\n\r\n'),
    statuses: [400],
  }),
  'blank lines before the request': () => ({
    sent: Buffer.concat([Buffer.from('\r\n\r\n'), genuine()]),
    statuses: [202],
  }),
  'a space before the method': () => ({ sent: ' GET / HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [400] }),
  'a path of 9,000 characters': () => ({
    sent: `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    statuses: [431],
  }),
  'a path with a bad escape': () => ({
    sent: `GET /%zz${canary} HTTP/1.1\r\nHost: a\r\n\r\n`,
    statuses: [404],
  }),
  'a path with ..': () => ({
    sent: 'GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n',
    statuses: [404],
  }),
  'the path after a/..': () => ({ sent: genuine([], 'POST /a/../webhooks HTTP/1.1'), statuses: [404] }),
  'the path in capitals': () => ({ sent: genuine([], 'POST /Webhooks HTTP/1.1'), statuses: [404] }),
  'the path with a slash at its end': () => ({
    sent: genuine([], 'POST /webhooks/ HTTP/1.1'),
    statuses: [404],
  }),
  'the path with two slashes': () => ({ sent: genuine([], 'POST //webhooks HTTP/1.1'), statuses: [404] }),
  'the path escaped': () => ({ sent: genuine([], 'POST /%77ebhooks HTTP/1.1'), statuses: [404] }),
  'the path with a query': () => ({ sent: genuine([], 'POST /webhooks?a=b HTTP/1.1'), statuses: [202] }),
  'the path with a fragment': () => ({ sent: genuine([], 'POST /webhooks#a HTTP/1.1'), statuses: [202] }),
  'the whole address as target': () => ({
    sent: genuine([], 'POST http://a/webhooks HTTP/1.1'),
    statuses: [202],
  }),
  'the whole address of another host': () => ({
    sent: genuine([], 'POST http://evil.example/elsewhere HTTP/1.1'),
    statuses: [404],
  }),
  'an asterisk as target': () => ({ sent: 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [404] }),
  CONNECT: () => ({ sent: 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n', statuses: [] }),
  'CONNECT to the path': () => ({ sent: 'CONNECT /webhooks HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [] }),
  'TRACE, whose response would be an echo': () => ({
    sent: `TRACE /webhooks HTTP/1.1\r\nHost: a\r\nX-A: ${canary}\r\n\r\n`,
    statuses: [405],
  }),
  GET: () => ({ sent: 'GET /webhooks HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [405] }),
  HEAD: () => ({ sent: 'HEAD /webhooks HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [405] }),
  'PUT with a genuine body': () => ({ sent: genuine([], 'PUT /webhooks HTTP/1.1'), statuses: [405] }),
  'GET with a genuine body': () => ({ sent: genuine([], 'GET /webhooks HTTP/1.1'), statuses: [405] }),
  PURGE: () => ({ sent: 'PURGE /webhooks HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [405] }),
  'POST to the health check': () => ({ sent: genuine([], 'POST /healthz HTTP/1.1'), statuses: [404] }),
  health: () => ({ sent: 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n', statuses: [200] }),
  'a health check that asks to be kept alive': () => ({
    sent: 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n',
    statuses: [200],
  }),
  'a method override header': () => ({
    sent: genuine(['X-HTTP-Method-Override: POST'], 'GET /webhooks HTTP/1.1'),
    statuses: [405],
  }),

  // Headers.
  'no Host': () => {
    const body = event();
    return { sent: request([line, json, lengthOf(body), signatureOf(body)], body), statuses: [400] };
  },
  'two Hosts': () => ({ sent: genuine(['Host: b']), statuses: [202] }),
  'HTTP/1.0 without a Host': () => {
    const body = event();
    return {
      sent: request(['POST /webhooks HTTP/1.0', json, lengthOf(body), signatureOf(body)], body),
      statuses: [202],
    };
  },
  'a header without a colon': () => ({ sent: genuine([canary]), statuses: [400] }),
  'a header without a name': () => ({ sent: genuine([`: ${canary}`]), statuses: [400] }),
  'a space before the colon': () => ({ sent: genuine(['Transfer-Encoding : chunked']), statuses: [400] }),
  'a folded header': () => ({ sent: genuine(['X-A: b', ' c']), statuses: [400] }),
  'a NUL in a header': () => ({ sent: genuine([`X-A: ${canary}\0`]), statuses: [400] }),
  'a bare carriage return in a header': () => ({
    sent: genuine(['X-A: b\rTransfer-Encoding: chunked']),
    statuses: [400],
  }),
  'a bare newline between headers': () => ({ sent: genuine(['X-A: b\nX-C: d']), statuses: [400] }),
  'newlines alone': () => ({ sent: 'GET /healthz HTTP/1.1\nHost: a\n\n', statuses: [400] }),
  'bytes beyond ASCII in a header': () => ({ sent: genuine(['X-A: \xe9\xff']), statuses: [202] }),
  'bytes beyond ASCII in a name': () => ({ sent: genuine(['X-\xe9: a']), statuses: [400] }),
  'an escape in a header': () => ({ sent: genuine(['X-A: \x1b[31m']), statuses: [400] }),
  'a header of 9,000 bytes': () => ({ sent: genuine([`X-A: ${'a'.repeat(9000)}`]), statuses: [431] }),
  'a name of 9,000 bytes': () => ({ sent: genuine([`${'A'.repeat(9000)}: a`]), statuses: [431] }),
  'two thousand headers': () => ({
    sent: genuine(Array.from({ length: 2000 }, (_, index) => `X-${index}: a`)),
    statuses: [431],
  }),
  'names in any case': () => {
    const body = event();
    return {
      sent: request(
        [
          line,
          'HOST: a',
          'cOnTeNt-TyPe: APPLICATION/json',
          `CONTENT-LENGTH: ${body.length}`,
          signatureOf(body).toLowerCase(),
        ],
        body,
      ),
      statuses: [202],
    };
  },
  'a header called __proto__': () => ({
    sent: genuine([`__proto__: ${canary}`, 'constructor: a']),
    statuses: [202],
  }),
  'forwarding headers of a proxy': () => ({
    sent: genuine(['X-Forwarded-For: 10.0.0.1', 'Forwarded: for=10.0.0.1', 'X-Original-URL: /healthz']),
    statuses: [202],
  }),

  // The signature.
  'no signature': () => {
    const body = event(canary);
    return { sent: request([line, 'Host: a', json, lengthOf(body)], body), statuses: [401] };
  },
  'a forged signature': () => ({ sent: forged(), statuses: [401] }),
  'an empty signature': () => {
    const body = event();
    return {
      sent: request([line, 'Host: a', json, lengthOf(body), 'Service-Signature:'], body),
      statuses: [401],
    };
  },
  'the signature twice': () => {
    const body = event();
    return {
      sent: request([line, 'Host: a', json, lengthOf(body), signatureOf(body), signatureOf(body)], body),
      statuses: [401],
    };
  },
  'a genuine signature behind a forged one': () => ({ sent: forged([signatureOf('{}')]), statuses: [401] }),
  'a signature in capitals': () => {
    const body = event();
    return {
      sent: request([line, 'Host: a', json, lengthOf(body), signatureOf(body).toUpperCase()], body),
      statuses: [401],
    };
  },
  'a signature of the body plus a newline': () => {
    const body = event();
    return {
      sent: request([line, 'Host: a', json, lengthOf(body), signatureOf(`${body}\n`)], body),
      statuses: [401],
    };
  },
  'a genuine signature of an hour ago': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, lengthOf(body), `Service-Signature: ${signed(body, now() - 3600)}`],
        body,
      ),
      statuses: [401],
    };
  },
  'a signature as trailer': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, 'Transfer-Encoding: chunked', 'Trailer: Service-Signature'],
        `${body.length.toString(16)}\r\n${body}\r\n0\r\n${signatureOf(body)}\r\n\r\n`,
      ),
      statuses: [401],
    };
  },
  'a signature in the query': () => {
    const body = event();
    return {
      sent: request(
        [`POST /webhooks?${signatureOf(body).replace(': ', '=')} HTTP/1.1`, 'Host: a', json, lengthOf(body)],
        body,
      ),
      statuses: [401],
    };
  },
  'a signature with an enormous time': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, lengthOf(body), `Service-Signature: t=${'9'.repeat(400)},v1=00`],
        body,
      ),
      statuses: [401],
    };
  },
  'five hundred signatures': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, lengthOf(body), `Service-Signature: t=${now()},${'v1=00,'.repeat(500)}v1=00`],
        body,
      ),
      statuses: [401],
    };
  },

  // The length of the body.
  'a length and chunks': () => ({ sent: genuine(['Transfer-Encoding: chunked']), statuses: [400] }),
  'chunks and a length': () => ({ sent: chunked([event()], ['Content-Length: 4']), statuses: [400] }),
  'two lengths that differ': () => ({ sent: genuine(['Content-Length: 4']), statuses: [400] }),
  'two lengths that agree': () => {
    const body = event();
    return { sent: genuine([lengthOf(body)], line, body), statuses: [400] };
  },
  'a list of lengths': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, `Content-Length: ${body.length}, ${body.length}`, signatureOf(body)],
        body,
      ),
      statuses: [400],
    };
  },
  'a negative length': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length: -1']),
    statuses: [400],
  }),
  'a length with a plus': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length: +5'], 'abcde'),
    statuses: [400],
  }),
  'a length in hexadecimal': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length: 0x10'], 'a'.repeat(16)),
    statuses: [400],
  }),
  'an enormous length': () => ({
    sent: request([line, 'Host: a', json, `Content-Length: ${'9'.repeat(30)}`]),
    statuses: [400],
  }),
  'a length too large to accept': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length: 99999999999'], canary),
    statuses: [413],
    after: 'ends',
  }),
  'an empty length': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length:'], 'a'),
    statuses: [400],
  }),
  'no length at all': () => ({
    sent: request([line, 'Host: a', json, signatureOf('')], event(canary)),
    statuses: [400],
  }),
  'a length shorter than the body': () => {
    const body = event(canary);
    return {
      sent: request([line, 'Host: a', json, 'Content-Length: 10', signatureOf(body)], body),
      statuses: [401],
    };
  },
  'a body that ends before its length': () => {
    const body = event();
    return {
      sent: request([line, 'Host: a', json, `Content-Length: ${body.length + 10}`, signatureOf(body)], body),
      statuses: [400],
      after: 'ends',
    };
  },
  chunks: () => ({ sent: chunked([event()]), statuses: [202] }),
  'chunks of one byte': () => ({ sent: chunked([...event()]), statuses: [202] }),
  'chunks of one byte until the body is too large': () => ({
    sent: chunked(Array.from({ length: 66_000 }, () => 'x')),
    statuses: [413],
  }),
  'chunks with extensions': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, 'Transfer-Encoding: chunked', signatureOf(body)],
        `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\n\r\n`,
      ),
      statuses: [202],
    };
  },
  'endless chunk extensions': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], `5;${'a'.repeat(20_000)}`),
    statuses: [413],
  }),
  'chunks with trailers': () => ({
    sent: chunked([event()], [], `0\r\nX-A: ${canary}\r\n\r\n`),
    statuses: [202],
  }),
  'endless trailers': () => ({
    sent: chunked([event()], [], `0\r\nX-A: ${'a'.repeat(9000)}`),
    statuses: [431],
  }),
  'a chunk without a size': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], '\r\n'),
    statuses: [400],
  }),
  'a chunk of negative size': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], '-1\r\n'),
    statuses: [400],
  }),
  'a chunk of an enormous size': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], `${'f'.repeat(20)}\r\n`),
    statuses: [400],
  }),
  'a chunk longer than its size': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], `3\r\n${canary}\r\n0\r\n\r\n`),
    statuses: [400],
  }),
  'a chunk ended by a newline alone': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, 'Transfer-Encoding: chunked', signatureOf(body)],
        `${body.length.toString(16)}\n${body}\n0\n\n`,
      ),
      statuses: [400],
    };
  },
  'chunked twice': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked, chunked'], '0\r\n\r\n'),
    statuses: [400],
  }),
  'an unknown transfer encoding': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: xchunked'], '0\r\n\r\n'),
    statuses: [400],
  }),
  'chunked, then identity': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked, identity'], '0\r\n\r\n'),
    statuses: [400],
  }),
  'gzip, then chunked': () => {
    const body = event();
    return {
      sent: request(
        [line, 'Host: a', json, 'Transfer-Encoding: gzip, chunked', signatureOf(body)],
        `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ),
      statuses: [202],
    };
  },
  'a request smuggled in a body': () => ({ sent: forged([], genuine().toString('latin1')), statuses: [401] }),
  'a request smuggled behind chunks': () => ({
    sent: request(
      [line, 'Host: a', json, 'Content-Length: 6', 'Transfer-Encoding: chunked'],
      '0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    ),
    statuses: [400],
  }),

  // The body.
  'a genuine delivery': () => ({ sent: genuine(), statuses: [202] }),
  'a body with a byte order mark': () => ({
    sent: signedAs(Buffer.from(`\ufeff${event()}`)),
    statuses: [202],
  }),
  'a body with two byte order marks': () => ({
    sent: signedAs(Buffer.from(`\ufeff\ufeff${event()}`)),
    statuses: [400],
  }),
  'a body in UTF-16': () => ({ sent: signedAs(Buffer.from(`\ufeff${event()}`, 'utf16le')), statuses: [400] }),
  'a body that is not UTF-8': () => ({
    sent: signedAs(Buffer.concat([Buffer.from(event()), Buffer.from([0xff])])),
    statuses: [400],
  }),
  'a body cut within a character': () => ({
    sent: signedAs(Buffer.from(event('é')).subarray(0, -4)),
    statuses: [400],
  }),
  'a NUL in the body': () => ({ sent: signedAs(`${event()}\0`), statuses: [400] }),
  'an escaped NUL in the body': () => ({ sent: signedAs(event('\0')), statuses: [202] }),
  'an empty body': () => ({ sent: signedAs(''), statuses: [400] }),
  null: () => ({ sent: signedAs('null'), statuses: [400] }),
  'two documents': () => ({ sent: signedAs(`${event()}${event()}`), statuses: [400] }),
  'a document nested 20,000 deep': () => ({
    sent: signedAs('['.repeat(20_000) + ']'.repeat(20_000)),
    statuses: [400],
  }),
  'an id that is not a string': () => ({ sent: signedAs('{"id":{"a":1},"event":"a.b"}'), statuses: [400] }),
  'an id with a quote': () => ({
    sent: signedAs(`{"id":"evt_'; DROP TABLE webhook_inbox","event":"a.b"}`),
    statuses: [400],
  }),
  compressed: () => {
    const body = gzipSync(event());
    return { sent: genuine(['Content-Encoding: gzip'], line, body), statuses: [415] };
  },
  'a compressed body without Content-Encoding': () => ({
    sent: signedAs(gzipSync(event())),
    statuses: [400],
  }),
  'an unknown content encoding': () => ({ sent: genuine([`Content-Encoding: ${canary}`]), statuses: [415] }),
  'no content type': () => {
    const body = event();
    return { sent: request([line, 'Host: a', lengthOf(body), signatureOf(body)], body), statuses: [415] };
  },
  'a form content type': () => ({
    sent: request(
      [line, 'Host: a', 'Content-Type: application/x-www-form-urlencoded', 'Content-Length: 3'],
      'a=b',
    ),
    statuses: [415],
  }),
  'two content types, the second one valid': () => ({
    sent: request([line, 'Host: a', 'Content-Type: text/plain', json, 'Content-Length: 2'], '{}'),
    statuses: [415],
  }),

  // Expect and Upgrade.
  'Expect: 100-continue': () => ({ sent: genuine(['Expect: 100-continue']), statuses: [100, 202] }),
  'Expect: 100-continue with a body too large': () => ({
    sent: request([line, 'Host: a', json, 'Content-Length: 70000', 'Expect: 100-continue']),
    statuses: [413],
    after: 'ends',
  }),
  'an unknown Expect': () => ({ sent: genuine([`Expect: ${canary}`]), statuses: [417] }),
  'an upgrade to WebSocket': () => ({
    sent: 'GET /webhooks HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n',
    statuses: [405],
  }),
  'an upgrade to HTTP/2': () => ({
    sent: genuine([
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
    ]),
    statuses: [202],
  }),

  // Pipelined requests.
  'two genuine deliveries without waiting': () => ({ sent: [genuine(), genuine()], statuses: [202, 202] }),
  'a forged delivery, then a genuine one': () => ({
    sent: Buffer.concat([forged(), genuine()]),
    statuses: [401],
    stored: 1,
  }),
  'a health check, then a genuine delivery': () => ({
    sent: Buffer.concat([Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'), genuine()]),
    statuses: [200],
    stored: 1,
  }),
  'a genuine delivery, then rubbish': () => ({
    sent: Buffer.concat([genuine(), Buffer.from(canary)]),
    statuses: [202],
  }),

  // Senders that disconnect early.
  'nothing, and the end': () => ({ sent: '', statuses: [], after: 'ends' }),
  'nothing, and a cut': () => ({ sent: '', statuses: [], after: 'cuts' }),
  'half a request line, and the end': () => ({ sent: 'POST /web', statuses: [400], after: 'ends' }),
  'half a request line, and a cut': () => ({ sent: 'POST /web', statuses: [], after: 'cuts' }),
  'half a header, and a cut': () => ({ sent: `${line}\r\nHost: a\r\nX-A: `, statuses: [], after: 'cuts' }),
  'half a body, and a cut': () => ({ sent: genuine().subarray(0, -20), statuses: [], after: 'cuts' }),
  'half a chunk, and a cut': () => ({
    sent: request([line, 'Host: a', json, 'Transfer-Encoding: chunked'], 'ff\r\nabc'),
    statuses: [],
    after: 'cuts',
  }),
};

/** No case waits for a timeout. */
const limits = { headersMillis: 60_000, requestMillis: 60_000 };
const inbox = new MemoryInbox();
let receiver: Receiver;
let port: number;

beforeAll(async () => {
  receiver = createReceiver({
    inbox,
    clock: systemClock,
    logger: silentLogger,
    path: '/webhooks',
    limits,
    signatureHeader: 'Service-Signature',
    secrets: () => [secret],
    resolveSources: () => ['acme' as SourceName],
    onAccepted: () => {},
  });
  ({ port } = await receiver.listen(0));
});

afterAll(() => receiver.close());

/**
 * Sends the bytes and returns the response: until the server closes, or until the last response on a connection that
 * stays open.
 */
function exchange({ sent, statuses, after }: Case): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let received = '';
    const end = () => {
      resolve(received);
      socket.destroy();
    };
    socket
      .on('error', () => {})
      .on('end', end)
      .on('close', end);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const stays = !/connection: close/i.test(received) && /\r\n\r\n$/.test(received);
      if (stays && statuses.length > 0 && statusesIn(received).length >= statuses.length) end();
    });
    socket.on('connect', () => {
      for (const piece of typeof sent === 'string' || Buffer.isBuffer(sent) ? [sent] : sent)
        socket.write(piece);
      if (after === 'ends') socket.end();
      if (after === 'cuts') socket.write('', () => socket.destroy());
    });
  });
}

const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((one) => Number(one[1]));

afterEach(async () => {
  const answer = await exchange({ sent: genuine(), statuses: [202] });
  expect(statusesIn(answer)).toEqual([202]);
  expect(receiver.status().results.defect).toBe(0);
});

test('receiver: more than a hundred raw requests are tested', () => {
  expect(Object.keys(cases).length).toBeGreaterThanOrEqual(104);
});

test.each(Object.entries(cases))('receiver, raw request: %s', async (_title, made) => {
  const one = made();
  const stored = inbox.rows.length;
  const received = await exchange(one);
  expect(statusesIn(received)).toEqual(one.statuses);
  // Only accepted deliveries are stored, and no response repeats the request or reveals the server's software.
  expect(inbox.rows.length - stored).toBe(
    one.stored ?? one.statuses.filter((status) => status === 202).length,
  );
  expect(received).not.toMatch(new RegExp(`${canary}|\\.[jt]s\\b|node|express|Error|\\{`, 'i'));
});
