import { clientState } from '../../service/identity/clients/manage-clients.js'
import type { ClientRegistration } from '../../service/identity/clients/client.js'
import { tableText } from './table-text.js'

const moment = (ms: number): string | null => (Number.isFinite(ms) ? new Date(ms).toISOString() : null)

/** All that may be shown of a subscription; never its hashes. */
export const subscriptionJson = (subscription: ClientRegistration, nowMs: number) => {
  const { clientId, tenants, projects, models, validFromMs, validUntilMs, mayIntrospect = false } = subscription
  return {
    clientId,
    tenants,
    projects,
    models,
    validFrom: moment(validFromMs),
    validUntil: moment(validUntilMs),
    mayIntrospect,
    state: clientState(subscription, nowMs),
  }
}

const titles = ['ID', 'TENANTS', 'PROJECTS', 'MODELS', 'FROM', 'UNTIL', 'STATE']

/** A line for each subscription, below a line of titles, in columns. */
export const subscriptionTable = (subscriptions: readonly ClientRegistration[], nowMs: number): string => {
  const rows = subscriptions.map((one) => {
    const { clientId, tenants, projects, models, validFrom, validUntil, state } = subscriptionJson(one, nowMs)
    const lists = [tenants, projects, models].map((names) => names.join(','))
    return [clientId, ...lists, validFrom ?? 'ever', validUntil ?? 'never', state]
  })
  return tableText(titles, rows)
}
