import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accepts } from '../../../service/test/interop/balancer.js'
import { needPackages } from '../../../service/test/interop/debian-packages.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { outcomeOf, proxied, ways, type Proxied } from './proxied-sessions.js'

const squid = '/usr/sbin/squid'
const helper = '/usr/lib/squid/basic_ncsa_auth'
const needed = needPackages(['squid'], () => [squid, helper].every((file) => existsSync(file)))

/** `secret-word` as squid's helper reads it: `openssl passwd -apr1 -salt rxspeech secret-word`. */
const passwords = 'caller:$apr1$rxspeech$wBD4KKTtdvftFtXC8dSsQ.\n'

/** A separate squid in the foreground, whose folder is removed with it. */
interface Squid {
  readonly port: number
  readonly log: () => Promise<string>
  readonly close: () => Promise<void>
}

const configuration = (folder: string, port: number, allowed: readonly string[]): string => `
http_port 127.0.0.1:${port}
pid_filename ${folder}/squid.pid
access_log stdio:${folder}/access.log
cache_log ${folder}/cache.log
cache deny all
coredump_dir ${folder}
shutdown_lifetime 0 seconds
netdb_filename none
pinger_enable off
auth_param basic program ${helper} ${folder}/passwords
auth_param basic realm squid
acl known proxy_auth REQUIRED
acl allowed port ${allowed.join(' ')}
acl here dst 127.0.0.1
http_access deny !allowed
http_access allow here known
http_access deny all
`

/** Squid takes seconds to listen, and many on a busy machine: this is more than a minute. */
const maxAttempts = 2_500

const openSquid = async (allowed: readonly string[]): Promise<Squid> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-squid-'))
  // Squid drops its privileges when it is started by root.
  await chmod(folder, 0o777)
  const port = await freePort()
  const file = join(folder, 'squid.conf')
  await writeFile(file, configuration(folder, port, allowed))
  await writeFile(join(folder, 'passwords'), passwords)
  const child: ChildProcess = spawn(squid, ['-N', '-f', file], { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (let attempt = 0; !(await accepts(port)); attempt += 1) {
    if (child.exitCode !== null || attempt > maxAttempts) {
      const log = await readFile(join(folder, 'cache.log'), 'utf8').catch(() => 'no log')
      throw new Error(`squid does not listen: ${log.slice(-2_000)}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    port,
    log: () => readFile(join(folder, 'access.log'), 'utf8'),
    close: async () => {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

describe.skipIf(needed.areAbsent)(needed.title('squid'), () => {
  let there: Proxied
  let proxy: Squid
  let other: Squid
  beforeAll(async () => {
    there = await proxied()
    proxy = await openSquid(ways.map((way) => there.peers[way].replace(/^.*:/, '')))
    other = await openSquid(['1'])
  })
  afterAll(async () => {
    await Promise.all([proxy.close(), other.close()])
    await there.close()
  })

  it.each(ways)('passes %s with user and password', async (way) => {
    expect(await outcomeOf(there.run(way, `http://caller:secret-word@127.0.0.1:${proxy.port}`))).toBe(
      there.results[way],
    )
    // A connection is logged after it has ended.
    await expect.poll(() => proxy.log()).toContain(`CONNECT ${there.peers[way]} caller`)
  })

  it.each(ways)('requires user and password for %s', async (way) => {
    const error = await outcomeOf(there.run(way, `http://caller:wrong-word@127.0.0.1:${proxy.port}`))
    expect(error).toMatchObject({ code: 'connection-failed', retryable: false })
    expect((error as Error).message).toMatch(/requires a user and a password, or rejects the given ones \(HTTP 407\)/)
  })

  it.each(ways)('refuses %s to a port that it does not allow', async (way) => {
    const error = await outcomeOf(there.run(way, `http://caller:secret-word@127.0.0.1:${other.port}`))
    expect(error).toMatchObject({ code: 'connection-failed', retryable: false })
    expect((error as Error).message).toMatch(/refuses connections to 127\.0\.0\.1:\d+ \(HTTP 403\)/)
  })
})
