import type { Command } from 'commander'
import { openSigningKeys, signingKeysFile } from '../../service/identity/keys/signing-keys.js'
import { defineCommand, defineCommandGroup, type CommandCall, type CommandContext } from '../parsing/command.js'
import { switchFlag } from '../parsing/flags.js'
import { stateFlag, stateFolderWith } from '../parsing/state-folder.js'

const rotateFlags = {
  alone: switchFlag(
    'take all other keys away: no token so far is good for a new session, and the new key signs at once',
  ),
  state: stateFlag,
}

/** `rxspeech keys`. */
export const addKeys = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Manages the keys that sign the tokens of a service. They are kept in signing-keys.json of its state folder.',
    examples: [
      ['rxspeech keys rotate --state /var/lib/rxspeech', 'a new key beside the old ones'],
      ['rxspeech keys rotate --alone --state /var/lib/rxspeech', 'after a key has leaked: every token so far ends'],
    ],
  })
  defineCommand(command.command('rotate').summary('make a new key'), context, {
    description:
      'Makes a new key that signs tokens, in the state folder of a service. A service that runs need not be restarted: it ' +
      'publishes the key when it next looks at its file, which is at the next token, and signs with it 10 minutes after it ' +
      'was made. Tokens of older keys stay good. Keys also rotate by themselves, every 90 days.',
    flags: rotateFlags,
    run: rotateKeys,
  })
}

/** Running services of the state folder see the new key at their next token. */
const rotateKeys = async ({
  flags: { alone, state },
  output,
}: CommandCall<typeof rotateFlags, undefined>): Promise<void> => {
  const stateFolder = stateFolderWith(signingKeysFile, 'signing keys', state)
  const keys = await openSigningKeys({ stateFolder, now: Date.now, rotateAfterMs: Infinity })
  const kid = await keys.rotate({ discardOthers: alone })
  output.write(
    alone
      ? `The key ${kid} is the only one; tokens of before are not good any more.\n`
      : `The key ${kid} signs in 10 minutes; tokens of before stay good.\n`,
  )
}
