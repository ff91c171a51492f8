import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

describe('short sessions, ended in each of five ways on each interface', () => {
  it('leave no open socket and no memory', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(__dirname, '../../../bench/soak/soak.mjs'),
      '100',
    ])
    const rows = stdout.split('\n').filter((line) => /^(websocket|grpc) /.test(line))
    expect(rows).toHaveLength(10)
    for (const row of rows) expect(row).toMatch(/ ok$/)
  })
})
