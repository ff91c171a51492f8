import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { shellWord } from '../../../src/cli/view/typed-command.js'

const throughShell = (name: string): string =>
  execFileSync('bash', ['-c', `printf %s ${shellWord(name)}`], { encoding: 'utf8' })

describe('the name of a file in a command', () => {
  it.each(['calls/a.wav', 'a b.wav', "it's", 'a"$x`\\', 'a*?[', '日本語.wav', 'a\nb', "\u001b[31m'\\x", '\u0085ü'])(
    'is what a shell reads: %j',
    (name) => {
      expect(throughShell(name)).toBe(name)
      expect(shellWord(name)).not.toMatch(/\p{Cc}/u)
    },
  )

  it('is quoted only where it has to be, and is never an option', () => {
    expect(shellWord('calls/a-1.wav')).toBe('calls/a-1.wav')
    expect(shellWord('-a b.wav')).toBe("'./-a b.wav'")
    expect(throughShell('-n')).toBe('./-n')
  })
})
