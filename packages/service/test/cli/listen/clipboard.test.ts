import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { findClipboard } from '../../../src/cli/listen/clipboard.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

const install = (name: string, script: string): void => {
  writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
}
const written: string[] = []
const terminal = { isTTY: true, write: (text: string) => written.push(text) }
const pipe = { ...terminal, isTTY: false }

describe('findClipboard', () => {
  it('copies with the program of the desktop', async () => {
    for (const name of ['xclip', 'wl-copy']) install(name, `echo "$*" > ${folder}/args; cat > ${folder}/text`)
    const x11 = findClipboard({ PATH: folder, DISPLAY: ':0' }, terminal, 'linux')
    expect(x11?.name).toBe('xclip')
    await x11?.copy('größer\n')
    expect(readFileSync(join(folder, 'text'), 'utf8')).toBe('größer\n')
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('-selection clipboard\n')
    expect(findClipboard({ PATH: folder, DISPLAY: ':0', WAYLAND_DISPLAY: 'w' }, terminal, 'linux')?.name).toBe(
      'wl-copy',
    )
  })

  it('over ssh copies to the terminal of the user, by OSC 52', async () => {
    install('xclip', 'exit 1')
    written.length = 0
    const clipboard = findClipboard({ PATH: folder, DISPLAY: ':0', SSH_TTY: '/dev/pts/1' }, terminal, 'linux')
    expect(clipboard?.name).toBe('the terminal')
    await clipboard?.copy('hello')
    expect(written).toEqual(['\u001b]52;c;aGVsbG8=\u0007'])
    await expect(clipboard?.copy('x'.repeat(60_000))).rejects.toThrow(/too long for the clipboard of a terminal/)
  })

  it('in tmux copies through it', () => {
    install('tmux', '')
    expect(findClipboard({ PATH: folder, TMUX: '/tmp/x,1,0' }, terminal, 'linux')?.name).toBe('tmux')
  })

  it('is none without a program and a terminal', () => {
    expect(findClipboard({ PATH: folder }, pipe, 'linux')).toBeUndefined()
    expect(findClipboard({ PATH: folder, TERM: 'dumb' }, terminal, 'linux')).toBeUndefined()
  })

  it('encodes for clip.exe as Windows does', async () => {
    install('clip.exe', `cat > ${folder}/text`)
    await findClipboard({ PATH: folder, WSL_DISTRO_NAME: 'Debian' }, pipe, 'linux')?.copy('é')
    expect([...readFileSync(join(folder, 'text'))]).toEqual([0xff, 0xfe, 0xe9, 0x00])
  })

  it('fails if the program does', async () => {
    install('xclip', 'exit 1')
    const clipboard = findClipboard({ PATH: folder, DISPLAY: ':0' }, pipe, 'linux')
    await expect(clipboard?.copy('x')).rejects.toThrow(
      'The transcript was not copied: xclip failed with exit code 1; use --output FILE.',
    )
  })
})
