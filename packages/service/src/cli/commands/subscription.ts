import type { Command } from 'commander'
import {
  type ClientRegistration,
  everything,
  maxTokenLifetimeSeconds,
  minTokenLifetimeSeconds,
  tokenLifetimeOf,
} from 'rxspeech-server/identity/clients/client'
import {
  type ClientInput,
  clientState,
  type IssuedSecret,
  registerClient,
  rotateSecret,
} from 'rxspeech-server/identity/clients/manage-clients'
import { clockToleranceMs } from 'rxspeech-server/identity/keys/key-list'
import { tokenIdOf } from 'rxspeech-server/identity/tokens/token-claims'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { defineCommand, defineCommandGroup, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagOr, repeatedFlagOr, switchFlag, type FlagValues, type ParseValue } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { date, duration, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { storeFlags, withStore } from '../identity/subscription-store.js'
import { tableText } from '../view/plain-text.js'

const commonFlags = { ...storeFlags, json: jsonFlag }

/** The life of tokens in seconds. */
const tokenLifetime: ParseValue<number> = (typed, name) => {
  const seconds = duration({ maxMs: maxTokenLifetimeSeconds * 1000 })(typed, name) / 1000
  if (seconds >= minTokenLifetimeSeconds) return seconds
  throw usageError(`${name} must be from ${minTokenLifetimeSeconds}s to 365d.`)
}

const createFlags = {
  clientId: flag('<id>', 'its id (default: a random one)', text),
  tenant: repeatedFlagOr('<name>', 'a tenant that it is granted; may be repeated, * for all', text, 'Default'),
  project: repeatedFlagOr('<name>', 'may be repeated', text, everything),
  model: repeatedFlagOr('<name>', 'may be repeated', text, everything),
  validFrom: flag('<date>', 'such as 2026-01-31 or 2026-01-31T12:00:00Z (default: now)', date),
  validUntil: flag('<date>', 'the time at which it expires (default: never)', date),
  tokenLifetime: flag('<duration>', 'how long its tokens are valid, 60s to 365d (default: 365d)', tokenLifetime),
  introspect: switchFlag('may inspect the tokens of other clients, as a gateway does'),
  ...commonFlags,
}

const updateFlags = { tokenLifetime: createFlags.tokenLifetime, ...commonFlags }

const maxOverlapMs = 30 * 24 * 3_600_000

const rotateFlags = {
  overlap: flagOr(
    '<duration>',
    'such as 30m, 1h or 7d; 0 ends the old secret at once',
    duration({ maxMs: maxOverlapMs }),
    '1h',
  ),
  ...commonFlags,
}

const clientId = ['<id>', 'its client id'] as const

/** `rxspeech subscription`. */
export const addSubscription = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Manages the clients of a service. Subscriptions are kept in identity.db of the state folder that the service was ' +
      'started with, or, for several machines, in NATS (identity.nats of the configuration file). A running service needs no restart: it applies each change within 2 seconds, and ends sessions ' +
      'that are no longer permitted.',
    examples: [
      [
        'rxspeech subscription create --tenant Acme --state /var/lib/rxspeech',
        'create a subscriber; prints id and secret once',
      ],
      ['rxspeech subscription rotate acme --overlap 1h', 'a new secret; the old one stays valid for an hour'],
      ['rxspeech subscription list --config service.yaml', 'those of a configured service, also in NATS'],
      ['rxspeech subscription revoke < token.txt', 'end one token; the subscriber can get another'],
    ],
  })
  defineCommand(command.command('create').summary('create a subscription'), context, {
    description:
      'Creates a subscription and prints its id and its secret. The secret is shown only once and not stored.',
    flags: createFlags,
    run: create,
  })
  defineCommand(command.command('list').summary('show all subscriptions'), context, { flags: commonFlags, run: list })
  defineCommand(
    command.command('cancel').summary('end a subscription, its tokens and its sessions permanently'),
    context,
    { argument: clientId, flags: commonFlags, run: cancel },
  )
  defineCommand(command.command('rotate').summary('give a subscription a new secret'), context, {
    description:
      'Prints a new secret once. The old one stays valid for the overlap, so that clients can get the new one ' +
      'without an interruption. Tokens stay valid; to end them, revoke them or cancel the subscription.',
    argument: clientId,
    flags: rotateFlags,
    run: rotate,
  })
  defineCommand(command.command('update').summary('change how long the tokens of a subscription are valid'), context, {
    description: 'Applies to tokens that are requested from now on; those that exist keep their end.',
    argument: clientId,
    flags: updateFlags,
    run: update,
  })
  defineCommand(command.command('revoke').summary('end one token and its sessions'), context, {
    description: 'Ends one token: the jti as an argument, or the whole token in RXSPEECH_TOKEN or on standard input.',
    argument: ['[jti]', 'the id of the token; never the token itself, which would be visible in the list of processes'],
    flags: commonFlags,
    run: revoke,
  })
}

/** Only the id and the secret go to stdout; notes go to stderr, so that a script can read stdout. */
const printSecret = ({ client, clientSecret }: IssuedSecret, isJson: boolean, output: Output): void => {
  const { clientId: id } = client
  output.write(
    isJson
      ? `${JSON.stringify({ clientId: id, clientSecret })}\n`
      : `client id:     ${id}\nclient secret: ${clientSecret}\n`,
  )
}

const create = async (call: CommandCall<typeof createFlags, undefined>): Promise<void> => {
  const { flags, host, output } = call
  const nowMs = Date.now()
  const input = planSubscription(flags, nowMs)
  await withStore(call, { mustExist: false }, async (store) => {
    printSecret(await registerClient(store, input, nowMs), flags.json, output)
  })
  if (!flags.json) host.stderr.write('Save the secret now: it is not stored, and is not shown again.\n')
}

const planSubscription = (flags: FlagValues<typeof createFlags>, nowMs: number): ClientInput => {
  // Another machine, whose clock is behind, has to accept it at once.
  const { validFrom: validFromMs = nowMs - clockToleranceMs, validUntil: validUntilMs = Infinity } = flags
  if (validUntilMs <= validFromMs) throw usageError('--valid-until must be after --valid-from.')
  if (validUntilMs <= nowMs) throw usageError('--valid-until is in the past; set a later time.')
  return {
    clientId: flags.clientId,
    tenants: flags.tenant,
    projects: flags.project,
    models: flags.model,
    validFromMs,
    validUntilMs,
    mayIntrospect: flags.introspect,
    tokenLifetimeSeconds: flags.tokenLifetime,
  }
}

const list = (call: CommandCall<typeof commonFlags, undefined>): Promise<void> =>
  withStore(call, { mustExist: true }, (store, where) => {
    const { flags, output } = call
    const nowMs = Date.now()
    const rows = store.list().map((subscription) => subscriptionJson(subscription, nowMs))
    if (flags.json) output.write(`${JSON.stringify(rows)}\n`)
    else output.write(rows.length === 0 ? noSubscriptions(where) : subscriptionTable(rows))
  })

const noSubscriptions = (where: string): string =>
  `There are no subscriptions in ${where}. A service of serve --dev keeps its own in memory.\n`

/** Prints what was done, as a sentence or for programs. */
const report = (
  { flags, output }: Pick<CommandCall<typeof commonFlags, unknown>, 'flags' | 'output'>,
  json: object,
  sentence: string,
): void => output.write(`${flags.json ? JSON.stringify(json) : sentence}\n`)

/** Running services end the sessions of the subscription. */
const cancel = (call: CommandCall<typeof commonFlags, string>): Promise<void> =>
  withStore(call, { mustExist: true }, async (store) => {
    const { argument: id } = call
    if (!(await store.cancel(id))) throw noSubscription(id)
    report(call, { clientId: id, state: 'cancelled' }, `The subscription ${JSON.stringify(id)} is cancelled.`)
  })

const noSubscription = (id: string): SpeechError => usageError(`There is no subscription ${JSON.stringify(id)}.`)

const update = (call: CommandCall<typeof updateFlags, string>): Promise<void> => {
  const { argument: id } = call
  const { tokenLifetime: seconds } = call.flags
  if (seconds === undefined) throw usageError('Nothing to change; set --token-lifetime.')
  return withStore(call, { mustExist: true }, async (store) => {
    if (!(await store.setTokenLifetime(id, seconds))) throw noSubscription(id)
    const sentence = `New tokens of ${JSON.stringify(id)} are valid for ${seconds} seconds.`
    report(call, { clientId: id, tokenLifetimeSeconds: seconds }, sentence)
  })
}

const rotate = async (call: CommandCall<typeof rotateFlags, string>): Promise<void> => {
  const { argument: id, flags, host, output } = call
  const { overlap: overlapMs } = flags
  const nowMs = Date.now()
  await withStore(call, { mustExist: true }, async (store) => {
    printSecret(await rotateSecret(store, id, { overlapMs, nowMs }), flags.json, output)
  })
  if (flags.json) return
  const until = new Date(nowMs + overlapMs).toISOString()
  host.stderr.write(
    overlapMs === 0
      ? 'The old secret is no longer valid.\n'
      : `The old secret stays valid until ${until}, so that no client is locked out before it has the new one.\n`,
  )
}

const tokenIdForm = /^[\w-]{1,128}$/

/** The token is not verified: a user who can write to the store may end any token, and an unknown id has no effect. */
const revoke = async (call: CommandCall<typeof commonFlags, string | undefined>): Promise<void> => {
  const { argument: jti, host } = call
  if (jti?.includes('.') === true) {
    throw usageError('A whole token must not be an argument; pass it in RXSPEECH_TOKEN or on standard input.')
  }
  const tokenId = jti ?? idOfToken((host.env['RXSPEECH_TOKEN'] ?? '') || (await readStandardInput(host)))
  if (!tokenIdForm.test(tokenId))
    throw usageError('A jti consists of letters, digits, - and _; check where it was copied from.')
  await withStore(call, { mustExist: true }, async (store) => {
    await store.revoke(tokenId)
    report(call, { jti: tokenId, state: 'revoked' }, `The token ${tokenId} is revoked.`)
  })
}

const idOfToken = (token: string): string => {
  const tokenId = tokenIdOf(token)
  if (tokenId === undefined)
    throw usageError('The input is not a token of this kind; pass the whole token, or its jti.')
  return tokenId
}

/** Somewhat more than the longest token that a service accepts. */
const maxInputBytes = 32 * 1024

const readStandardInput = async ({ stdin }: Host): Promise<string> => {
  if (stdin.isTTY) throw usageError('Pass the jti of the token, or the token in RXSPEECH_TOKEN or on standard input.')
  let received = ''
  for await (const chunk of stdin.setEncoding('utf8') as AsyncIterable<string>) {
    received += chunk
    if (received.length > maxInputBytes) throw usageError('Standard input is longer than a token.')
  }
  return received.trim()
}

const momentOf = (ms: number): string | null => (Number.isFinite(ms) ? new Date(ms).toISOString() : null)

/** The public fields of a subscription, without its hashes. */
const subscriptionJson = (subscription: ClientRegistration, nowMs: number) => {
  const { clientId: id, tenants, projects, models, validFromMs, validUntilMs, mayIntrospect = false } = subscription
  const tokenLifetimeSeconds = tokenLifetimeOf(subscription)
  return {
    clientId: id,
    tenants,
    projects,
    models,
    validFrom: momentOf(validFromMs),
    validUntil: momentOf(validUntilMs),
    mayIntrospect,
    tokenLifetimeSeconds,
    state: clientState(subscription, nowMs),
  }
}

const titles = ['ID', 'TENANTS', 'PROJECTS', 'MODELS', 'FROM', 'UNTIL', 'STATE']

const subscriptionTable = (rows: readonly ReturnType<typeof subscriptionJson>[]): string =>
  tableText(
    titles,
    rows.map(({ clientId: id, tenants, projects, models, validFrom, validUntil, state }) => {
      const lists = [tenants, projects, models].map((names) => names.join(','))
      return [id, ...lists, validFrom ?? 'ever', validUntil ?? 'never', state]
    }),
  )
