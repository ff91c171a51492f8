import type { Command } from 'commander'
import { openSigningKeys, signingKeysFile } from '../../service/identity/keys/signing-keys.js'
import { defineCommand, defineCommandGroup, type CommandCall, type CommandContext } from '../parsing/command.js'
import { switchFlag } from '../parsing/flags.js'
import { stateFlag, stateFolderWith } from '../parsing/state-folder.js'

const rotateFlags = {
  alone: switchFlag(
    'remove all other keys: existing tokens are refused for new sessions, and the new key is used at once',
  ),
  state: stateFlag,
}

/** `rxspeech keys`. */
export const addKeys = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Manages the keys that sign the tokens of a service. They are kept in signing-keys.json of its state folder.',
    examples: [
      ['rxspeech keys rotate --state /var/lib/rxspeech', 'add a new key'],
      [
        'rxspeech keys rotate --alone --state /var/lib/rxspeech',
        'after a key has leaked: invalidates all existing tokens',
      ],
    ],
  })
  defineCommand(command.command('rotate').summary('create a new key'), context, {
    description:
      'Creates a new signing key in the state folder of a service. A running service needs no restart: it ' +
      'publishes the key when it reads its file again, at the next token, and signs with it 10 minutes after it ' +
      'was created. Tokens of older keys stay valid. Keys also rotate automatically, every 90 days.',
    flags: rotateFlags,
    run: rotateKeys,
  })
}

/** Running services of the state folder use the new key from their next token on. */
const rotateKeys = async ({
  flags: { alone, state },
  output,
}: CommandCall<typeof rotateFlags, undefined>): Promise<void> => {
  const stateFolder = stateFolderWith(signingKeysFile, 'signing keys', state)
  const keys = await openSigningKeys({ stateFolder, now: Date.now, rotateAfterMs: Infinity })
  const kid = await keys.rotate({ discardOthers: alone })
  output.write(
    alone
      ? `The key ${kid} is the only one; earlier tokens are no longer valid.\n`
      : `The key ${kid} is used in 10 minutes; earlier tokens stay valid.\n`,
  )
}
