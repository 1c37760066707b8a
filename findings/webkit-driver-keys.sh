#!/usr/bin/env bash
# WebKitWebDriver: an object that a script returns comes with its keys in an order of the driver's own. A comparison of JSON texts,
# which holds in other browsers, fails; a text that the page has made of it by JSON.stringify keeps the order.
. "$(dirname "$0")/browser.sh"
start_display
start_webkit
seen=$(run_node <<'END'
import { open } from "./driver.mjs";
const session = await open("data:text/html,<title>x</title>");
const object = '{ one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8 }';
const made = Object.keys(await session.run(`return ${object}`)).join();
const text = Object.keys(JSON.parse(await session.run(`return JSON.stringify(${object})`))).join();
const asked = "one,two,three,four,five,six,seven,eight";
console.log(`an object's keys are ${made === asked ? "kept" : "moved"}, a text's ${text === asked ? "kept" : "moved"}`);
await session.end();
END
)
verdict "$seen" "an object's keys are moved, a text's kept" "an object's keys are kept, a text's kept"
