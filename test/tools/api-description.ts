import { type HeaderNames, headerNames } from '../../src/contract/headers.js';
import type { Operation } from '../../src/contract/operation.js';
import { featuresOf } from '../../src/platform/features.js';
import { type ApiDocument, describeApi } from '../../src/platform/openapi/document.js';
import { createServices } from '../../src/platform/platform.js';
import { systemClock } from '../../src/runtime/clock.js';

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
