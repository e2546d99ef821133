import type { Operation } from '../../src/platform/contract/operation.js';
import { featuresOf } from '../../src/platform/features.js';
import { type ApiDocument, describeApi } from '../../src/platform/openapi/document.js';
import { createServices } from '../../src/platform/platform.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type HeaderNames, headerNames } from '../../src/wire/headers.js';

/** Every operation the platform answers, whichever feature it belongs to; the control API is none of them. */
export function declaredOperations(): readonly Operation[] {
  const services = createServices();
  try {
    return featuresOf(services, systemClock).flatMap(({ routes }) =>
      routes.map(({ operation }) => operation),
    );
  } finally {
    services.state.close();
  }
}

export const apiDescription = (headers: HeaderNames = headerNames()): ApiDocument =>
  describeApi(declaredOperations(), headers);
