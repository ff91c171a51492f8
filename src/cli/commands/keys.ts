import type { Command } from 'commander'
import type { RotateKeysFlags } from '../actions/rotate-keys.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { exampleText } from './help-text.js'

const description = `Makes a new key that signs tokens, in the state folder of a service. A service that runs need not be restarted: it publishes
the key when it next looks at its file, which is at the next token, and signs with it 10 minutes after it was made. Tokens
of older keys stay good. Keys also rotate by themselves, every 90 days.`

export const addKeys = (program: Command, host: Host, output: Output): void => {
  const command = program
    .command('keys')
    .summary('the keys that sign tokens')
    .description(
      'Manages the keys that sign the tokens of a service. They are kept in signing-keys.json of its state folder.',
    )
    .helpCommand(false)
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech keys rotate --state /var/lib/rxspeech', 'a new key beside the old ones'],
        ['rxspeech keys rotate --alone --state /var/lib/rxspeech', 'after a key has leaked: every token so far ends'],
      ]),
    )
  command
    .command('rotate')
    .summary('make a new key')
    .description(description)
    .option(
      '--alone',
      'take all other keys away: no token so far is good for a new session, and the new key signs at once',
    )
    .option('--state <dir>', 'the state folder of the service (default: .rxspeech)')
    .action(async (flags: RotateKeysFlags) => {
      const { rotateKeys } = await import('../actions/rotate-keys.js')
      await rotateKeys(flags, output)
    })
}
