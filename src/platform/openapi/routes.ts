import type { HeaderNames } from '../../wire/headers.js';
import { getApiDescription, openDocs } from '../contract/documentation.js';
import type { Operation } from '../contract/operation.js';
import type { Feature } from '../feature.js';
import { ok } from '../http/exchange.js';
import { route } from '../http/route.js';
import { spendIp } from '../http/steps/spend.js';
import { docsPage } from './docs/page.js';
import { describeApi } from './document.js';

/** The documentation of the given operations and of its own two: the OpenAPI document and the reference page. */
export function documentation(operations: readonly Operation[], headers: HeaderNames): Feature {
  const document = once(() => describeApi([...operations, getApiDescription, openDocs], headers));
  const text = once(() => JSON.stringify(document()));
  const page = once(() => docsPage(document()));
  return {
    routes: [
      route(getApiDescription, spendIp('ip'), () => ({ ...ok(text()), headers: asJson })),
      route(openDocs, spendIp('ip'), () => page()),
    ],
  };
}

const asJson = { 'content-type': 'application/json; charset=utf-8' };

/** Memoizes `make`. Most platforms run in tests that never request the documentation. */
function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
