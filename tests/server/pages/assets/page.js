console.log("a script for tests");
