import { resolve } from 'node:path'
import type { Command } from 'commander'
import { folderPlace, migrate, type Migration, planMigration, sharedPlace } from 'rxspeech-nats/identity/migrate'
import { storeFileName } from 'rxspeech-server/identity/state/state-files'
import { defineCommand, defineCommandGroup, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, switchFlag } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { stateFolderWith } from '../parsing/state-folder.js'
import { oneOf, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { storePlace } from '../identity/subscription-store.js'

const migrateFlags = {
  config: flag('<file>', 'the configuration file of the service, with identity.nats', text),
  to: flag('<place>', 'nats, or folder for identity.db of a state folder', oneOf(['nats', 'folder'] as const)),
  state: flag('<dir>', 'the state folder (default: stateFolder of the configuration file)', text),
  dryRun: switchFlag('only print what would be changed'),
  json: jsonFlag,
}

/** `rxspeech identity`. */
export const addIdentity = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description: 'Moves subscriptions and revoked tokens between one machine and NATS, which several machines share.',
    examples: [
      ['rxspeech identity migrate --config service.yaml --to nats --dry-run', 'what would be copied'],
      ['rxspeech identity migrate --config service.yaml --to folder', 'back to one machine'],
    ],
  })
  defineCommand(command.command('migrate').summary('copy subscriptions and revocations to another place'), context, {
    description:
      'Copies what the other place does not have, and leaves everything where it was, so it can be repeated. ' +
      'Nothing is removed: a subscription that is cancelled in either place is cancelled afterwards, and one that differs ' +
      'otherwise stays as it is where the copy goes. Signing keys are not copied; see rxspeech keys rotate --file.',
    flags: migrateFlags,
    run: runMigrate,
  })
}

const runMigrate = async ({ flags, host, output }: CommandCall<typeof migrateFlags, undefined>): Promise<void> => {
  const { config, to, dryRun, json } = flags
  if (config === undefined) throw usageError('Set --config, a configuration file with identity.nats.')
  if (to === undefined) throw usageError('Set --to nats or --to folder.')
  const { connect, stateFolder } = await storePlace({ flags: { config, state: '' }, given: [], host })
  if (connect === undefined) throw usageError(`${config} has no identity.nats, so there is nothing to copy from or to.`)
  const state = flags.state === undefined ? stateFolder : resolve(flags.state)
  const nowMs = Date.now()
  const folder = await folderPlace(
    to === 'nats' ? stateFolderWith(storeFileName, 'subscriptions', state) : state,
    nowMs,
  )
  try {
    const { identity, close } = await connect()
    try {
      const shared = sharedPlace(identity)
      const [source, target] = to === 'nats' ? [folder, shared] : [shared, folder]
      const migration = planMigration(source, target, nowMs)
      if (!dryRun) await migrate(migration, target)
      output.write(json ? `${JSON.stringify(jsonOf(migration, dryRun))}\n` : reportOf(migration, dryRun))
    } finally {
      await close()
    }
  } finally {
    folder.close()
  }
}

const jsonOf = ({ add, cancel, unchanged, different, revoke, revoked }: Migration, isDryRun: boolean) => ({
  isDryRun,
  added: add.map(({ clientId }) => clientId),
  cancelled: cancel,
  unchanged,
  different,
  revokedTokens: { added: revoke.length, unchanged: revoked },
})

/** What was or would be changed, one line each; clients by their ids. */
const reportOf = (migration: Migration, isDryRun: boolean): string => {
  const { add, cancel, unchanged, different, revoke, revoked } = migration
  const done = (one: string): string => (isDryRun ? `would be ${one}` : one)
  const lines = [
    `subscriptions ${done('added')}: ${listed(add.map(({ clientId }) => clientId))}`,
    `subscriptions ${done('cancelled')}, as where they came from: ${listed(cancel)}`,
    `subscriptions that are the same: ${unchanged.length}`,
    `subscriptions that differ and stay as they are: ${listed(different)}`,
    `revoked tokens ${done('added')}: ${revoke.length}, already there: ${revoked}`,
  ]
  return `${lines.join('\n')}\n`
}

const maxListed = 20

/** The number, and some of the ids; they have no control characters. */
const listed = (clientIds: readonly string[]): string => {
  if (clientIds.length === 0) return '0'
  const more = clientIds.length > maxListed ? ', …' : ''
  return `${clientIds.length} (${clientIds.slice(0, maxListed).join(', ')}${more})`
}
