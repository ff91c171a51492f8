import { describe, expect, it } from 'vitest'
import { ProgramRunner } from '../../../src/cli/listen/program-runner.js'
import { isRunning } from '../../../../../test/is-running.js'

const notes: string[] = []
const runner = (): ProgramRunner => {
  notes.length = 0
  return new ProgramRunner((line) => notes.push(line))
}
const shell = (script: string) => ({ program: '/bin/sh', args: ['-c', script] })

describe('ProgramRunner', () => {
  it('shows the lines of a program, without control sequences, and how it failed', async () => {
    const programs = runner()
    programs.run(shell(`printf 'one\\n\\033[2Jtwo' ; echo bad >&2; exit 3`))
    await programs.end()
    expect(notes.toSorted()).toEqual(['rxspeech: sh failed with exit code 3.', 'sh: [2Jtwo', 'sh: bad', 'sh: one'])
  })

  it('runs four at once, lets sixteen wait, and refuses more', async () => {
    const programs = runner()
    for (let n = 0; n < 22; n++) programs.run(shell('echo .'))
    expect(notes).toEqual(Array(2).fill('rxspeech: sh was not run: 4 programs run and 16 wait.'))
    await expect.poll(() => notes.filter((note) => note === 'sh: .').length).toBe(20)
    await programs.end()
  })

  it('shows the beginning of a long output, and long lines shortened', async () => {
    const programs = runner()
    programs.run(shell(`head -c 100000 /dev/zero | tr '\\0' x; echo; yes | head -n 100000`))
    await programs.end()
    expect(notes).toHaveLength(201)
    expect(notes[0]).toBe(`sh: ${'x'.repeat(2000)}`)
    expect(notes.at(-1)).toBe('sh: … and more, which is not shown')
  })

  it('reports a program that cannot be started, and a call that is refused', async () => {
    const programs = runner()
    programs.run({ program: '/no/such/program', args: [] })
    programs.run({ ...shell('echo never'), refusal: '{x} has no value' })
    await programs.end()
    expect(notes.toSorted()).toEqual([
      'rxspeech: program cannot be started (ENOENT); check the program.',
      'rxspeech: sh was not run: {x} has no value.',
    ])
  })

  it('waits for the output that a program in its background keeps open no longer than for its end', async () => {
    const programs = runner()
    programs.run(shell('sleep 60 & echo $!'))
    await programs.end()
    const [, pid] = /^sh: (\d+)$/.exec(notes[0] ?? '') ?? []
    process.kill(Number(pid))
    expect(notes).toHaveLength(1)
  })

  it('ends programs that still run, by force if needed', async () => {
    const programs = runner()
    programs.run(shell(`trap '' TERM; echo $$; while :; do sleep 0.05; done`))
    await expect.poll(() => notes.length).toBe(1)
    const pid = Number(/\d+/.exec(notes[0] ?? '')?.[0])
    programs.kill()
    await expect.poll(() => isRunning(pid)).toBe(false)
  })
})
