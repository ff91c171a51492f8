import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type KeysFileRotation, rotateKeysFile } from 'rxspeech-server/identity/keys/keys-file'
import { openSigningKeys, signingKeysFile } from 'rxspeech-server/identity/keys/signing-keys'
import { defineCommand, defineCommandGroup, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, switchFlag } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { stateFlag, stateFolderWith } from '../parsing/state-folder.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'

const rotateFlags = {
  alone: switchFlag(
    'remove all other keys: existing tokens are refused for new sessions, and the new key is used at once',
  ),
  file: flag(
    '<file>',
    'a file of keys for several machines, identity.keysFile of their services; created if missing',
    text,
  ),
  state: stateFlag,
  json: jsonFlag,
}

/** `rxspeech keys`. */
export const addKeys = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Manages the keys that sign the tokens of a service. They are kept in signing-keys.json of its state folder, ' +
      'or in a file that all machines of a service get.',
    examples: [
      ['rxspeech keys rotate --state /var/lib/rxspeech', 'add a new key'],
      [
        'rxspeech keys rotate --alone --state /var/lib/rxspeech',
        'after a key has leaked: invalidates all existing tokens',
      ],
      ['rxspeech keys rotate --file keys.json', 'a file for identity.keysFile; run again to add a new key'],
    ],
  })
  defineCommand(command.command('rotate').summary('create a new key'), context, {
    description:
      'Creates a new signing key in the state folder of a service. A running service needs no restart: it ' +
      'publishes the key when it reads its file again, at the next token, and signs with it 10 minutes after it ' +
      'was created. Tokens of older keys stay valid. Keys also rotate automatically, every 90 days. With --file ' +
      'the file has to reach all machines within the 10 minutes; those keys do not rotate by themselves.',
    flags: rotateFlags,
    run: rotateKeys,
  })
}

const rotateKeys = async ({ flags, given, output }: CommandCall<typeof rotateFlags, undefined>): Promise<void> => {
  const { alone, file, state, json } = flags
  if (file !== undefined && given.includes('state')) throw usageError('Set either --file or --state.')
  const { kid, isNew } = await (file === undefined ? rotateInFolder(state, alone) : rotateInFile(file, alone))
  if (json) output.write(`${JSON.stringify({ kid, isOnly: isNew || alone })}\n`)
  else if (isNew) output.write(`${file ?? state} is new; its key ${kid} is used at once.\n`)
  else if (alone) output.write(`The key ${kid} is the only one; earlier tokens are no longer valid.\n`)
  else output.write(`The key ${kid} is used in 10 minutes; earlier tokens stay valid.\n`)
}

/** Running services of the state folder use the new key from their next token on. */
const rotateInFolder = async (state: string, alone: boolean): Promise<KeysFileRotation> => {
  const stateFolder = stateFolderWith(signingKeysFile, 'signing keys', state)
  const keys = await openSigningKeys({ stateFolder, now: Date.now, rotateAfterMs: Infinity })
  return { kid: await keys.rotate({ discardOthers: alone }), isNew: false }
}

/** Services use the new key when their copy of the file has changed. */
const rotateInFile = (file: string, alone: boolean): Promise<KeysFileRotation> =>
  rotateKeysFile({ path: resolve(file), now: Date.now }, { discardOthers: alone })
