// The page of attached devices.
import { useState } from "preact/hooks";
import { Chart, type Line } from "./chart.tsx";
import { Head, Message } from "./head.tsx";
import { useChanges, useTheme } from "./hooks.ts";
import type { Device, Job, Live } from "./live.ts";
import type { Theme } from "./theme.ts";
import { figures } from "./words.ts";

export function LivePage({ live }: { live: Live }) {
  useChanges(live);
  const [of, turn] = useTheme();
  return (
    <>
      <Head what="What this machine does, now." theme={of} turn={turn}>
        <a href="#">Stories</a>
      </Head>
      <Message text={live.connection} />
      {live.wrong.map((why) => (
        <Message key={why} text={why} wrong />
      ))}
      <Message text={live.notice} />
      <main class="devices">
        {live.jobs.length > 0 && (
          <section class="device" aria-label="Under way">
            <h2>Under way</h2>
            {live.jobs.map((job) => (
              <Underway key={job.pid} job={job} />
            ))}
          </section>
        )}
        {live.told && live.t > 0 && live.devices.length === 0 && live.wrong.length === 0 && (
          <p class="busy">
            Nothing is attached here. <code>sudo queuewright attach eth0 codel --rate 50mbit</code> attaches something.
          </p>
        )}
        {live.devices.map((device) => (
          <Attached key={device.status.dev} device={device} live={live} theme={of} />
        ))}
      </main>
    </>
  );
}

/** A command of the simulator or of the lab, and what its disciplines come to so far. */
function Underway({ job }: { job: Job }) {
  const left = job.share > 0.01 ? `, about ${figures((job.seconds * (1 - job.share)) / job.share)} s left` : "";
  return (
    <div class="job">
      <p>
        <code>queuewright {job.words}</code>: {job.done} of {job.total} runs in {figures(job.seconds)} s{left}
      </p>
      <progress aria-label={`How much of ${job.words} is done`} max={1} value={job.share} />
      {job.seen.length > 0 && (
        <table class="measures">
          <thead>
            <tr>
              <td />
              <th scope="col">runs</th>
              <th scope="col">utilisation</th>
              <th scope="col">mean waiting time</th>
            </tr>
          </thead>
          <tbody>
            {job.seen.map((one) => (
              <tr key={one.label}>
                <th scope="row">{one.label}</th>
                <td>{one.runs}</td>
                <td>{figures(one.utilization * 100)} %</td>
                <td>{figures(one.sojourn_ms)} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function reasons(counts: Record<string, number>): string {
  const all = Object.entries(counts).filter(([, n]) => n > 0);
  return all.length ? all.map(([reason, n]) => `${n} ${reason}`).join(", ") : "none";
}

function Attached({ device, live, theme: of }: { device: Device; live: Live; theme: Theme }) {
  const { status, time } = device;
  const name = status.discipline.split(":")[0] ?? "";
  const rate = status.rate > 0 ? `${figures(status.rate / 1e6)} Mbit/s` : "the device's pace";
  const common = { time, begin: time[0] ?? 0, end: Math.max(live.t, (time[0] ?? 0) + 1), theme: of };
  const one = (column: string, scale = 1, sticks = false): Line[] => [
    { label: device.name, colour: of.lanes[0], values: device.column(column), scale, sticks },
  ];
  const idea = live.idea(name);
  return (
    <section class="device" aria-label={device.name}>
      <h2>
        {device.name}: {status.discipline}, {rate}
      </h2>
      {!status.there && <p class="message wrong">It is no longer there. What follows is from before.</p>}
      {status.missing.length > 0 && (
        <p class="message wrong">
          Missing: {status.missing.join("; ")}. {status.mend && <code>{status.mend}</code>}
        </p>
      )}
      <p>
        <span data-now="sent">{status.stats.sent_packets}</span> packets sent, <span data-now="waiting">{status.stats.backlog_packets}</span> wait, {figures(status.stats.backlog_bytes / 1e3)} kB.
        99 % of all waited less than {figures(device.p99_ms)} ms. Dropped: {reasons(status.stats.drops)}. Marked:{" "}
        {reasons(status.stats.marks)}.
      </p>
      {idea && (
        <details>
          <summary>How {name} works</summary>
          {/* Made of our own pages, as in the stories. */}
          <div dangerouslySetInnerHTML={{ __html: idea }} />
        </details>
      )}
      {live.set && <Setting dev={status.dev} live={live} />}
      <div class="charts">
        <Chart {...common} title="Sent" unit="Mbit/s" lines={one("rate", 1e-6)} />
        <Chart {...common} title="Waiting time" unit="ms" lines={one("sojourn")} />
        <Chart {...common} title="Queue" unit="kB" lines={one("backlog", 1e-3)} />
        <Chart {...common} title="Drops" unit="packets" lines={one("drops", 1, true)} />
        {device.column("marks").some((n) => n > 0) && <Chart {...common} title="Marks" unit="packets" lines={one("marks", 1, true)} />}
        <Variables device={device} common={common} />
      </div>
    </section>
  );
}

type Common = { time: number[]; begin: number; end: number; theme: Theme };

/** The discipline's own variables, as its page calls them. */
function Variables({ device, common }: { device: Device; common: Common }) {
  const [wanted, want] = useState("");
  const all = device.status.variables;
  const shown = all.find(([name]) => name === wanted) ?? all[0];
  if (!shown) return null;
  const [name, unit, value] = shown;
  return (
    <>
      {all.length > 1 && (
        <label class="variable">
          Variable
          <select value={name} onChange={(e) => want(e.currentTarget.value)}>
            {all.map(([other]) => (
              <option key={other} value={other}>
                {other}
              </option>
            ))}
          </select>
        </label>
      )}
      <Chart
        {...common}
        title={`${name}, now ${figures(value)}`}
        unit={unit}
        lines={[{ label: name, colour: common.theme.lanes[1], values: device.column(`variable ${name}`) }]}
      />
    </>
  );
}

function Setting({ dev, live }: { dev: string; live: Live }) {
  const [text, write] = useState("");
  return (
    <form
      class="setting"
      onSubmit={(e) => {
        e.preventDefault();
        void live.change(dev, text);
      }}
    >
      <label>
        Change it{" "}
        <input value={text} placeholder="rate=50mbit target=10ms" spellcheck={false} onInput={(e) => write(e.currentTarget.value)} />
      </label>{" "}
      <button type="submit">Set</button>
    </form>
  );
}
